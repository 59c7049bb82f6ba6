"""Ranks that exit while a communicator exists: with their own code and in bounded time, whatever
operation or connection is still active."""

import contextlib
import itertools
import os
import pathlib
import socket
import threading
import time
import unittest

from launched import BIN, LENIENT, Job, LauncherTest

RANK = BIN / "multiproc_exiting_rank"
CODE = 22
# Three seconds until the operation fails, five for the last messages, two for destructors. The rest
# is for a busy machine.
PATIENCE_S = 40


def listening_ports(pid):
    """The ports of its TCP listeners."""
    inodes = set()
    with contextlib.suppress(OSError):
        for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes.add(os.readlink(entry))
    ports = set()
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
            ports.add(int(words[1].split(":")[1], 16))
    return ports


class Stranger(threading.Thread):
    """Connects to every port of a job's processes, without the key, until it is told to stop."""

    def __init__(self, job):
        super().__init__()
        self.job = job
        self.ends = threading.Event()
        self.connections = 0

    def run(self):
        ports, next_search = set(), 0
        while not self.ends.wait(0.02):
            if time.monotonic() >= next_search:  # it reads all of /proc
                ports = {port for pid in self.job.alive() for port in listening_ports(pid)}
                next_search = time.monotonic() + 0.2
            for port in ports:
                with contextlib.suppress(OSError):
                    with socket.create_connection(("127.0.0.1", port), 1) as caller:
                        caller.sendall(b"PLh1" + os.urandom(92))
                        self.connections += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.join()


class Exit(LauncherTest):
    def run_all(self, ways, backends=("tcp", "shm"), ranks=3, errors=None):
        """Runs all jobs at once, each with unauthenticated connections; returns their outputs by
        backend and way."""
        outputs = {}
        with contextlib.ExitStack() as stack:
            jobs = {}
            for backend, way in itertools.product(backends, ways):
                env = {"PACELINE_BACKEND": backend, **LENIENT}
                job = stack.enter_context(Job("-n", ranks, RANK, way, env=env))
                jobs[backend, way] = (job, stack.enter_context(Stranger(job)), time.monotonic())
            for (backend, way), (job, stranger, begin) in jobs.items():
                with self.subTest(way=way, backend=backend):
                    code, outputs[backend, way], error = job.wait()
                    if errors is not None:
                        errors[way] = error
                    self.assertEqual(code, CODE, error + outputs[backend, way])
                    self.assertNotIn("SIGSEGV", error)
                    self.assertLess(time.monotonic() - begin, PATIENCE_S)
                    if backend == "tcp":
                        self.assertGreater(stranger.connections, 0)
        return outputs

    def test_returning_from_main_after_a_failure(self):
        ways = ["global", "local_static", "leaked", "openssl_first", "c", "unused_id"]
        self.run_all(ways)
        self.run_all(ways, ["tcp"])

    def test_what_destructors_call_afterwards_is_refused(self):
        for output in self.run_all(["late_calls"]).values():
            for rank in (0, 1):
                lines = [line for line in output.splitlines() if line.startswith(f"[{rank}@")]
                self.assertEqual(len(lines), 4, output)
                self.assertIn("timeout: ", lines[0])  # the first error stays
                self.assertIn("the process is exiting", lines[1])
                self.assertIn("cancelled", lines[2])
                self.assertIn("the process is exiting", lines[3])

    def test_exit_called_by_another_thread_ends_what_runs(self):
        for output in self.run_all(["another_thread"]).values():
            self.assertIn("the process is exiting", output)

    def test_exit_called_by_a_signal_handler(self):
        for (_, way), output in self.run_all(["signal_handler", "signal_handler_beside"]).items():
            if way == "signal_handler_beside":
                self.assertNotIn("outlived", output)

    def test_exit_while_ranks_join(self):
        ways = ["while_it_joins", "while_it_connects"]
        errors = {}
        outputs = self.run_all(ways, ["tcp"], errors=errors)
        for way in ways:
            self.assertIn("the process is exiting", outputs["tcp", way])
            self.assertLess(errors[way].count("has waited"), 3, errors[way][:1000])

    def test_a_child_that_exits_leaves_its_parent_alone(self):
        self.run_all(["child", "bare_child"])

    def test_peers_hear_what_the_rank_was_doing(self):
        for output in self.run_all(["in_the_middle"]).values():
            self.assertIn("rank 0 on", output)
            self.assertIn("called exit() in the middle of all_reduce(4194304 x float32, sum) #1",
                          output)

    def test_what_is_pending_ends_before_older_static_objects_are_destroyed(self):
        exiting = "cancelled: the process is exiting"
        for output in self.run_all(["used_by_older"]).values():
            lines = [line.split("] ", 1)[1] for line in output.splitlines()
                     if line.startswith("[0@")]
            self.assertEqual(len(lines), 6, output)
            self.assertEqual(lines[0], "it has ended")
            for line in lines[1:5]:
                self.assertIn(exiting, line)
            self.assertEqual(lines[5], "no thread is left")

    def test_newer_static_objects_are_destroyed_while_communicators_are_usable(self):
        for output in self.run_all(["used_by_newer"]).values():
            lines = [line.split("] ", 1)[1] for line in output.splitlines()]
            self.assertEqual(lines, ["ok"] * 9, output)

    def test_after_close(self):
        self.run_all(["after_close"])


if __name__ == "__main__":
    unittest.main()
