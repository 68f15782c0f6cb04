"""A server on localhost that adds a script to every page."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Adding(SimpleHTTPRequestHandler):
    """Serves a folder, its pages with one more script."""

    def __init__(self, *args, script, **kwargs):
        self.script = script
        super().__init__(*args, **kwargs)

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if self.path == "/wait":  # the browser's clock runs ahead of its workers, but waits for an answer
            time.sleep(0.25)
            self.send_response(204)
            self.end_headers()
            return
        if path.suffix != ".html" or not path.is_file():
            super().do_GET()
            return
        page = path.read_text(encoding="utf-8").replace("</body>", f"<script>{self.script}</script></body>").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder, script):
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Adding, directory=str(folder), script=script))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
