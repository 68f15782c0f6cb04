"""Is a folder on a disk that several machines share?"""

from __future__ import annotations

import os
import re
from pathlib import Path

from rota.errors import RotaError

NETWORK = {
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "9p", "ceph", "glusterfs", "lustre", "gpfs", "beegfs"),
    *("ocfs2", "gfs2", "orangefs", "pvfs2", "panfs", "wekafs", "davfs"),
    *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.gcsfuse", "fuse.juicefs", "fuse.davfs"),
}
"""File systems, as the kernel calls them, on which a lock of the operating system may not reach other machines."""
KIND = "ROTA_LOCK"  # of the environment: os, lease


def is_shared(folder: Path) -> bool:
    """Whether it is on a network disk: as `$ROTA_LOCK` says (`lease`: yes, `os`: no), else as the kernel does.

    >>> is_shared(Path("/proc"))
    False
    """
    said = os.environ.get(KIND, "auto")
    if said not in ("auto", "os", "lease"):
        raise RotaError(f"${KIND} expects auto, os or lease. Found '{said}'.")
    return _file_system(folder) in NETWORK if said == "auto" else said == "lease"


def _file_system(folder: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The kind of file system that a folder is on; empty where nobody says so."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    place, found, kind = os.path.realpath(folder), "", ""
    for line in lines:
        _, point, own, *_ = [*line.split(), "", "", ""]
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), point)
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(found):  # a later mount hides an earlier one
            found, kind = point, own
    return kind
