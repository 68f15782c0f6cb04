"""How long does `import rota` take beyond `import numpy`?  Median of fresh processes, one after the other.

python benchmarks/imports.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys

CODE = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"


def seconds(modules: str) -> float:
    return float(
        subprocess.run([sys.executable, "-c", CODE.format(modules)], capture_output=True, text=True, check=True).stdout
    )


def main() -> None:
    pairs = [(seconds("numpy"), seconds("numpy, rota")) for _ in range(11)]
    numpy, rota = (statistics.median(column) for column in zip(*pairs, strict=True))
    extra = statistics.median(both - alone for alone, both in pairs)
    print(f"import numpy {numpy:.3f} s, import numpy and rota {rota:.3f} s: {extra:+.3f} s (limit 0.3 s)")


if __name__ == "__main__":
    main()
