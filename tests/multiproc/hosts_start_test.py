"""The start of a job on other hosts: signals before the agents have come, and the variables that
ranks get there."""

import os
import pathlib
import signal
import tempfile
import time
import unittest

from launched import Job, LauncherTest, host_options, until

HANGING = ["--launch-agent", "sh -c 'exec sleep 1000' {host}", "-H", "h2"]
LEAVES_PROGRAM_S = 5  # of engines/agent_starter.cc
NAMES = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX",
         "CONDA_DEFAULT_ENV")
# The environment of the agents: as it is on another host.
ELSEWHERE = {name: "/elsewhere" for name in NAMES} | {"PATH": "/usr/bin:/bin"}


class SignalsDuringTheStart(LauncherTest):
    def test_a_signal_says_so_and_a_second_one_ends_the_launcher_at_once(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), Job(*HANGING, "true") as job:
                self.assertTrue(until(lambda job=job: "sleep" in names_of(job)))
                begin = time.monotonic()
                job.process.send_signal(number)
                line = job.process.stderr.readline().decode()
                self.assertIn(f"{number.name} came: the job does not start", line)
                self.assertIsNone(job.process.poll(), "it did not wait for the program")
                self.assertTrue(until(lambda job=job, number=number: repeated(job, number)))
                self.assertLess(time.monotonic() - begin, LEAVES_PROGRAM_S)
                self.assertEqual(job.wait()[0], 128 + number)
                self.assertEqual(job.alive(), [])


def repeated(job, number):
    """Sends the signal once more. True once the launcher has ended."""
    if job.process.poll() is None:
        job.process.send_signal(number)
    return job.process.poll() is not None


def names_of(job):
    names = set()
    for pid in job.alive():
        try:
            names.add(pathlib.Path(f"/proc/{pid}/comm").read_text().strip())
        except OSError:
            pass
    return names


class Variables(LauncherTest):
    def setUp(self):
        host_options(self, "h2")  # skips the test if there are no remote agents
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = pathlib.Path(folder.name) / "show-variables"
        program.write_text("#!/bin/sh\n" + "".join(f'echo "{name}=${name}"\n' for name in NAMES))
        program.chmod(0o755)
        self.here = {name: f"/here/{name}" for name in NAMES}
        # A path of the real program's libraries may be needed.
        self.here["LD_LIBRARY_PATH"] = os.environ.get("LD_LIBRARY_PATH", "/here/lib")
        self.here["PATH"] = f"{folder.name}:{os.environ['PATH']}"
        self.program = program

    def shown(self, *options, program="show-variables", hooks=("--no-python-hooks",)):
        agent = " ".join(["env", "TEST_HOST={host}",
                          *(f"{name}={value}" for name, value in ELSEWHERE.items())])
        code, output, error = self.run_job(*hooks, "--launch-agent", agent, "-H", "h2", *options,
                                           program, env=self.here)
        self.assertEqual(code, 0, error)
        return dict(line.split("=", 1) for line in output.splitlines())

    def test_paths_go_along_and_the_program_is_found_by_them(self):
        self.assertEqual(self.shown(), self.here)

    def test_the_hook_of_python_stands_before_the_users_path(self):
        shown = self.shown(hooks=())
        self.assertRegex(shown.pop("PYTHONPATH"), "^/proc/self/fd/[0-9]+:/here/PYTHONPATH$")
        self.assertEqual(shown, {key: value for key, value in self.here.items()
                                 if key != "PYTHONPATH"})

    def test_a_stated_variable_holds(self):
        self.assertEqual(self.shown("-x", "VIRTUAL_ENV=/stated"),
                         self.here | {"VIRTUAL_ENV": "/stated"})

    def test_other_hosts_may_keep_their_own(self):
        self.assertEqual(self.shown("--host-paths", program=str(self.program)), ELSEWHERE)


if __name__ == "__main__":
    unittest.main()
