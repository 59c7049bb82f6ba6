"""Runs `paceline` for a test, and finds what it leaves behind.

PACELINE_BIN names the folder of the built programs. Every job gets a variable of its own in the
environment, so that its processes are found in /proc wherever they have gone.
"""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import unittest
import uuid

BIN = pathlib.Path(os.environ.get("PACELINE_BIN") or
                   pathlib.Path(__file__).resolve().parents[2] / "build/release/bin")
PACELINE = str(BIN / "paceline")
HOST = socket.gethostname().split(".")[0]
DEADLINE_S = 60


def until(condition, deadline_s=20):
    """Waits for a condition that no descriptor tells of; returns its last value."""
    end = time.monotonic() + deadline_s
    while not (value := condition()) and time.monotonic() < end:
        os.sched_yield()
    return value


def read_proc(pid, name):
    """Of a process; nothing where it has gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def host_options(test, hosts):
    """Options of a job on hosts that are all this machine. TEST_HOST says which one a process is
    on."""
    words = ["--launch-agent", "env TEST_HOST={host}"]
    first = hosts.split(",")[0]
    tried = subprocess.run([PACELINE, "run", *words, "-H", first, "true"],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=DEADLINE_S, check=False)
    if "remote agents need the module" in tried.stderr:
        test.skipTest("agents on other hosts are not built")
    return [*words, "-H", hosts]


class Job:
    """A running `paceline run`; its standard streams are pipes unless stated otherwise."""

    def __init__(self, *arguments, env=None, **options):
        self.mark = f"PACELINE_TEST_MARK={uuid.uuid4().hex}"
        name, value = self.mark.split("=")
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **options}
        self.process = subprocess.Popen(
            [PACELINE, "run", *map(str, arguments)],
            env={**os.environ, **(env or {}), name: value}, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(DEADLINE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def alive(self):
        """Processes of the job, the head among them, that are not zombies."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if self.mark.encode() in environment and state not in "ZX":
                found.append(int(entry.name))
        return found

    def wait(self):
        """Code, output and error output, once everything has ended."""
        output, error = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, output.decode(), error.decode()

    def children(self, pid):
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(child) for child in text.split()]

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
