"""``keeper.py LOCK COMMAND…``: a server and all that it starts, for as long as somebody holds the lock.

It leads the process group. A tester that is killed lets go of the lock, too.
"""

import fcntl
import os
import signal
import subprocess
import sys
import threading


def main() -> None:
    server = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_when_unused, args=(sys.argv[1],), daemon=True).start()
    server.wait()
    _end()


def _end_when_unused(path: str) -> None:
    with open(path, "rb") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        _end()


def _end() -> None:
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
