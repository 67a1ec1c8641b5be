"""Whether a file may hold a ledger: locks of network file systems are not to be trusted."""

from __future__ import annotations

import os
import re
from pathlib import Path

from discreet.errors import Incompatible

# fmt: off
NETWORK = frozenset({
    "nfs", "nfs3", "nfs4", "cifs", "smb", "smb3", "smbfs", "afs", "9p", "ceph", "lustre",
    "glusterfs", "gpfs", "beegfs", "ocfs2", "gfs", "gfs2", "ncpfs", "davfs", "coda",
    "orangefs", "pvfs2", "panfs", "acfs", "vboxsf", "prl_fs", "afpfs", "webdav",
})
# fmt: on
"""File systems of other machines, by the names Linux has for them."""

LOCAL_FUSE = frozenset({"fuse.ntfs", "fuse.ntfs-3g", "fuse.exfat", "fuse.fuse-overlayfs"})
"""File systems in user space that lie on a disk of this machine; all others may be remote."""

MOUNTS = Path("/proc/mounts")


def file_system(path: Path, mounts: str) -> str:
    """Return the kind of file system that holds ``path``, by a table of mounts.

    >>> file_system(Path("/data/x"), "/dev/sda / ext4 rw 0 0\\nhost:/d /data nfs4 rw 0 0\\n")
    'nfs4'
    """
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        # Blanks in names are written as octal numbers.
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), fields[1])
        inside = str(path) == point or str(path).startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


def check_local(path: Path, mounts: Path = MOUNTS) -> None:
    """Refuse a place on a network file system, where that can be told."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="replace")
    except OSError:  # only Linux tells
        return
    kind = file_system(Path(os.path.realpath(path)), table)
    if kind in NETWORK or (kind.startswith("fuse") and kind not in (*LOCAL_FUSE, "fuseblk")):
        raise Incompatible(
            f"{path} lies on a network file system ({kind}), whose locks do not keep two machines "
            "from spending the same budget. Put the ledger on a local disk, or use PostgreSQL: "
            "Ledger.create('postgresql://host/database', dataset=...)."
        )
