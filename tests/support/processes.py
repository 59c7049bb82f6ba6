"""Processes in /proc, and the mark by which a test finds the processes that it started."""

import contextlib
import os
import pathlib
import re
import signal
import uuid

PROC = pathlib.Path("/proc")


def read(path):
    """The bytes of a file; none if the file, or the process that it describes, does not exist."""
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def entries(folder):
    """The paths in a folder; none if the folder does not exist."""
    try:
        return [folder / name for name in os.listdir(folder)]
    except OSError:
        return []


def processes():
    """The pids of all processes, zombies included."""
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def stat_of(pid):
    """The fields of /proc/PID/stat from the third on (the state); none if the process is gone."""
    return read(PROC / str(pid) / "stat").rpartition(b")")[2].split()


def state_of(pid):
    """The letter of proc(5). Z: a zombie, or a process that is gone."""
    fields = stat_of(pid)
    return fields[0].decode() if fields else "Z"


def is_alive(pid):
    return state_of(pid) not in "ZX"


def wait_status_of(pid):
    """A zombie's status as waitpid(2) gives it; None if it is hidden or already reaped."""
    fields = stat_of(pid)
    return int(fields[49]) if fields and fields[0] == b"Z" else None


def children_of(pid):
    """The children that the main thread has started."""
    return [int(child) for child in read(PROC / f"{pid}/task/{pid}/children").split()]


def family(pid):
    """The process and all its descendants, parents first."""
    found = [pid]
    for parent in found:
        for task in entries(PROC / str(parent) / "task"):
            found += [int(child) for child in read(task / "children").split()]
    return found


def peak_memory_kib(pid):
    """VmHWM of /proc/PID/status; 0 if the process is gone."""
    match = re.search(rb"VmHWM:\s+(\d+) kB", read(PROC / str(pid) / "status"))
    return int(match[1]) if match else 0


def named_process(pids, name, variable):
    """The first of the processes whose name begins so and that has `variable`, NAME=value, in its
    environment; None if there is none."""
    for pid in pids:
        if (read(PROC / str(pid) / "comm").decode(errors="replace").startswith(name)
                and variable.encode() in read(PROC / str(pid) / "environ").split(b"\0")):
            return pid
    return None


def processes_with(variable):
    """Pids of the processes that run and have `variable`, NAME=value, in their environment."""
    return [pid for pid in processes()
            if variable.encode() in read(PROC / str(pid) / "environ").split(b"\0")
            and is_alive(pid)]


class Mark:
    """A variable that no other process has. Descendants inherit it, so that they are found even
    after they have left their process group or session and their parents have ended. The end of a
    `with` kills those that remain."""

    NAME = "PACELINE_TEST_MARK"

    def __init__(self):
        self.value = uuid.uuid4().hex

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def variables(self):
        """For the environment of what is started."""
        return {self.NAME: self.value}

    def alive(self):
        """Pids of the processes that have the mark, without zombies."""
        return processes_with(f"{self.NAME}={self.value}")

    def kill(self):
        """Kills the processes that have the mark now."""
        for pid in self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
