"""Runs `paceline` for a test, and finds what it leaves behind.

PACELINE_BIN names the folder of the built programs. Every job gets a variable of its own in the
environment, so that its processes are found in /proc wherever they have gone.
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from support import surroundings  # noqa: E402
from support.processes import Mark, children_of, read  # noqa: E402, F401  for the tests
from support.surroundings import HOST  # noqa: E402, F401  for the tests
from support.waits import poll as until  # noqa: E402

BIN = pathlib.Path(os.environ.get("PACELINE_BIN") or surroundings.BIN)
PACELINE = str(BIN / "paceline")
DEADLINE_S = 60

# Turns off reports of sanitizers about jobs that leak on purpose, that call exit() in a signal
# handler on purpose, or that fork. A child has no thread that refers to the memory of its parent's
# threads, so the leak check would report that memory.
LENIENT = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "report_signal_unsafe=0"}

# Under nohup jobs would ignore it.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def host_options(test, hosts):
    """Options of a job whose hosts are all this machine. TEST_HOST is the name of a process's
    host."""
    words = ["--launch-agent", "env TEST_HOST={host}"]
    first = hosts.split(",")[0]
    tried = subprocess.run([PACELINE, "run", *words, "-H", first, "true"],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=DEADLINE_S, check=False)
    if "remote agents need the module" in tried.stderr:
        test.skipTest("agents on other hosts are not built")
    return [*words, "-H", hosts]


@contextlib.contextmanager
def fault_script(lines):
    """The path of a file for --faults."""
    with tempfile.NamedTemporaryFile("w", suffix=".faults") as script:
        script.write(lines)
        script.flush()
        yield script.name


class Job:
    """A running `paceline run`; its standard streams are pipes unless stated otherwise."""

    def __init__(self, *arguments, env=None, **options):
        self.mark = Mark()
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **options}
        self.process = subprocess.Popen(
            [PACELINE, "run", *map(str, arguments)],
            env={**os.environ, **(env or {}), **self.mark.variables()}, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.mark.kill()
        self.process.wait(DEADLINE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def alive(self):
        """Processes of the job, the head among them, that are not zombies."""
        return self.mark.alive()

    def wait(self):
        """Code, output and error output, once everything has ended."""
        output, error = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, output.decode(), error.decode()

    def children(self, pid):
        return children_of(pid)

    def agent(self):
        return self.children(self.process.pid)[0]

    def helper(self):
        return self.children(self.agent())[0]

    def is_pending(self, pid, signal_number):
        """Whether the process has been sent the signal and has not taken it yet."""
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        pending = re.search(r"^ShdPnd:\s*(\w+)$", status, re.MULTILINE)[1]
        return int(pending, 16) >> (signal_number - 1) & 1


class LauncherTest(unittest.TestCase):
    def run_job(self, *arguments, **options):
        with Job(*arguments, **options) as job:
            result = job.wait()
            left = job.alive()
            self.assertEqual(left, [], "processes are left")
            return result

    def assert_gone(self, job, within_s=2):
        until(lambda: not job.alive(), within_s)
        self.assertEqual(job.alive(), [])
