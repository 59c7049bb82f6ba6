"""Jobs of `paceline run` for the commands of this folder: started, watched through /proc, and
looked for after their end."""

import ctypes
import os
import pathlib
import re
import resource
import select
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from support.processes import PROC, Mark, children_of, entries, read, wait_status_of  # noqa: E402
from support.surroundings import PACELINE  # noqa: E402
from support.waits import until  # noqa: E402

SHARED_MEMORY = pathlib.Path("/dev/shm")
SEGMENT = re.compile(r"paceline-([0-9a-f]+)")  # the name of a job's shared memory
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Processes whose parents have died become children of this one instead of getting lost."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def write_no_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def open_by_somebody(path):
    """Does a live process hold the file open or mapped?"""
    for entry in PROC.glob("[0-9]*"):
        if os.fsencode(path) in read(entry / "maps"):
            return True
        for link in entries(entry / "fd"):
            try:
                if os.readlink(link) == str(path):
                    return True
            except OSError:
                continue
    return False


class Job:
    """A running `paceline run`: its output and errors go to files of `folder`, unless `options`
    for subprocess say otherwise, and its TMPDIR is one there. Leaves no process behind."""

    def __init__(self, folder, *arguments, env=None, **options):
        self.folder = pathlib.Path(folder)
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.shared_before = set(SHARED_MEMORY.iterdir())
        self.id = None  # for left(): PACELINE_JOB_ID, if it has become known
        self.mark = Mark()
        environment = {**os.environ, "TMPDIR": str(self.temporary), **(env or {}),
                       **self.mark.variables()}
        with open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
            options = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err, **options}
            self.process = subprocess.Popen(
                [str(PACELINE), "run", *map(str, arguments)], env=environment, cwd=self.folder,
                preexec_fn=write_no_cores, **options)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.mark.kill()
        self.process.wait(20)
        until(lambda: not self.alive(), "the end of the killed processes")

    def output(self):
        return read(self.folder / "out").decode(errors="replace")

    def errors(self):
        return read(self.folder / "err").decode(errors="replace")

    def alive(self):
        """Processes of the job, the head among them, that are not zombies."""
        return self.mark.alive()

    def wait(self, deadline_s):
        """Its exit code."""
        return self.process.wait(deadline_s)

    def agent(self):
        return children_of(self.pid)[0]

    def helper(self):
        return children_of(self.agent())[0]

    def left(self):
        """What is left of a job that should be gone, in words."""
        return [f"process {pid}: {read(PROC / str(pid) / 'cmdline')!r}" for pid in self.alive()] + [
            str(path) for path in self.temporary.rglob("*")] + [
            str(path) for path in sorted(set(SHARED_MEMORY.iterdir()) - self.shared_before)
            if path.exists() and not self.is_of_another(path)]

    def is_of_another(self, path):
        """Has another job of this host made the file in the meantime?"""
        named = SEGMENT.match(path.name)
        return (self.id and named and named[1] != self.id) or open_by_somebody(path)


class Deaths:
    """When each of some processes died, seconds of CLOCK_MONOTONIC, and how as far as that was to
    be seen before it was reaped: by pid, in the order in which they were noticed."""

    def __init__(self, pids):
        self.when = {}
        self.how = {}
        self.waiting = {}
        self.poll = select.poll()
        for pid in pids:
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                self.when[pid] = time.monotonic()
                continue
            self.waiting[descriptor] = pid
            self.poll.register(descriptor, select.POLLIN)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for descriptor in self.waiting:
            os.close(descriptor)

    def watch(self, deadline_s, enough=lambda deaths: not deaths.waiting):
        """Until `enough`: by default until all have died. False if it did not come to that."""
        end = time.monotonic() + deadline_s
        while not enough(self) and (left := end - time.monotonic()) > 0:
            for descriptor, _ in self.poll.poll(left * 1000):
                pid = self.waiting.pop(descriptor)
                self.how[pid] = wait_status_of(pid)
                self.when[pid] = time.monotonic()
                self.poll.unregister(descriptor)
                os.close(descriptor)
        return enough(self)
