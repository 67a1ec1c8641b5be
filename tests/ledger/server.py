"""Run a command beside a PostgreSQL server of its own, on a local port.

``python server.py COMMAND...`` sets ``DISCREET_POSTGRES`` for the command. The
server keeps its data in a folder that is removed afterwards, and listens on the
loopback interface alone.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path


def programs() -> Path:
    """Return the folder of the newest server that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    named = shutil.which("initdb")
    if not found and named is None:
        raise SystemExit("There is no PostgreSQL server here: apt-get install postgresql")
    return (found[-1] if found else Path(named)).parent


def main(command: list[str]) -> int:
    bin, folder = programs(), Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
    owner = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres")
        owner = ["runuser", "-u", "postgres", "--"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data, log = folder / "data", folder / "log"
    start = [*owner, str(bin / "initdb"), "-D", str(data), "-A", "trust", "-U", "discreet"]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL, cwd=folder)
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -k {folder}"
    control = [*owner, str(bin / "pg_ctl"), "-D", str(data), "-l", str(log), "-w"]
    subprocess.run(
        [*control, "-o", options, "start"], check=True, stdout=subprocess.DEVNULL, cwd=folder
    )
    try:
        address = f"postgresql://discreet@127.0.0.1:{port}/postgres"
        return subprocess.run(command, env=os.environ | {"DISCREET_POSTGRES": address}).returncode
    finally:
        stop = [*control, "-m", "immediate", "stop"]
        subprocess.run(stop, stdout=subprocess.DEVNULL, cwd=folder)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
