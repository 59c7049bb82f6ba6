"""Memory cgroups with a limit, of version 1 or 2, for processes that shall run out of memory."""

import contextlib
import errno
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from support.cgroups import hierarchy  # noqa: E402
from support.surroundings import Unavailable  # noqa: E402
from support.waits import until  # noqa: E402

FIRST_PID_NAMESPACE = 0xEFFFFFFC  # PROC_PID_INIT_INO of linux/proc_ns.h


def may_be_made():
    """Raises Unavailable unless this user can limit memory and the kernel's log tells of it."""
    if os.geteuid() != 0:
        raise Unavailable("this needs root")
    if os.stat("/proc/self/ns/pid").st_ino != FIRST_PID_NAMESPACE:
        raise Unavailable("in a pid namespace the kernel's log has other process numbers")
    try:
        os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
        with limited("paceline-probe", 1 << 24):
            pass
    except OSError as error:
        raise Unavailable(str(error)) from error


@contextlib.contextmanager
def limited(name, limit_bytes):
    """(folder, full name) of a new cgroup, which is removed when its processes have died."""
    point, root, version = hierarchy("memory")
    folder = point / name
    folder.mkdir()
    try:
        limit = "memory.limit_in_bytes" if version == 1 else "memory.max"
        (folder / limit).write_text(str(limit_bytes))
        swap = folder / "memory.swap.max"
        if swap.exists():
            swap.write_text("0")
        yield folder, f"{root.rstrip('/')}/{name}"
    finally:
        until(lambda: removed(folder), f"the end of the processes in {folder}", 10)


def removed(folder):
    """False while there are processes, the dead among them that nobody has reaped."""
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True
