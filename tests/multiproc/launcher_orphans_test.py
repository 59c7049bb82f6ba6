"""When any process of the launcher is killed, no process of its job remains after two seconds.
`paceline list` shows a job while it lives, and `paceline cancel` ends it."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

from launched import PACELINE, Job, LauncherTest, host_options, until

# Ranks that ignore what can be ignored, with children in their group, in a session of their own,
# and orphaned.
STUBBORN = """
trap '' TERM INT HUP
sleep 1000 &
setsid sleep 1000 &
(setsid sh -c 'sleep 1000 & sleep 1000' &)
echo ready
while :; do sleep 1000; done
"""

# Each process lives for a moment, and the next one is its child: in one group, or in a new session
# each time.
STORM = """
import os
print("ready", flush=True)
for _ in range(4):
    if os.fork() == 0:
        break
else:
    import signal
    signal.pause()
while True:
    if os.fork() != 0:
        os._exit(0)
    STEP
"""
STORM_IN_A_GROUP = STORM.replace("STEP", "pass")
STORM_OF_SESSIONS = STORM.replace("STEP", "os.setsid()")


def paceline(*arguments):
    return subprocess.run([PACELINE, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)


def kill_at_once(*pids):
    """None ends by itself when it sees that another has gone."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, number)


class Orphans(LauncherTest):
    def kill(self, whom, expected_code):
        with Job("-n", 3, "--no-tag-output", "sh", "-c", STUBBORN) as job:
            for _ in range(3):
                self.assertEqual(job.process.stdout.readline(), b"ready\n")
            self.assertGreater(len(job.alive()), 3 + 3 * 3)
            os.kill(whom(job), signal.SIGKILL)
            self.assertEqual(job.process.wait(10), expected_code)
            self.assert_gone(job)
            return job.process.stderr.read().decode()

    def test_head(self):
        self.kill(lambda job: job.process.pid, -signal.SIGKILL)

    def test_agent(self):
        self.assertIn("the agent is gone", self.kill(Job.agent, 125))

    def test_agent_that_a_program_started(self):
        """The launcher kills the group of that program, which the agent leads."""
        with Job(*host_options(self, "h2:2"), "-n", 2, "--no-tag-output", "setsid", "-w", "sh",
                 "-c", STUBBORN) as job:
            for _ in range(2):
                self.assertEqual(job.process.stdout.readline(), b"ready\n")
            os.kill(job.agent(), signal.SIGKILL)
            self.assertEqual(job.process.wait(10), 125)
            self.assert_gone(job)

    def test_helper(self):
        self.assertIn("the spawn helper was killed", self.kill(Job.helper, 125))

    def test_agent_and_helper(self):
        def both(job):
            agent, helper = job.agent(), job.helper()
            os.kill(agent, signal.SIGSTOP)  # it would end by itself
            os.kill(helper, signal.SIGKILL)
            return agent

        self.kill(both, 125)

    def test_agent_while_its_helper_is_stopped(self):
        def stopping(job):
            os.kill(job.helper(), signal.SIGSTOP)
            return job.agent()

        self.kill(stopping, 125)

    def test_storm_of_forks(self):
        for storm in (STORM_IN_A_GROUP, STORM_OF_SESSIONS):
            with Job("-n", 2, "--no-tag-output", sys.executable, "-c", storm) as job:
                self.assertEqual(job.process.stdout.readline(), b"ready\n")
                job.process.kill()
                self.assert_gone(job)

    def test_all_three_by_the_next_command(self):
        with Job("-n", 3, "--no-tag-output", "sh", "-c", STUBBORN) as job:
            for _ in range(3):
                job.process.stdout.readline()
            kill_at_once(job.helper(), job.agent(), job.process.pid)
            job.process.wait(10)
            # Another command than this one may be the next; all that counts is that they are gone.
            until(lambda: paceline("list") and not job.alive())
            self.assert_gone(job)

    def test_a_daemon_without_environment(self):
        """Only the job's control group tells whose it is."""
        with Job("-n", 1, "--no-tag-output", "sh", "-c",
                 "env -i setsid sleep 1000 & echo $!; wait") as job:
            daemon = pathlib.Path("/proc", job.process.stdout.readline().decode().strip())
            if "/paceline-" not in (daemon / "cgroup").read_text():
                self.skipTest("this user may make no control group here")
            kill_at_once(job.helper(), job.agent(), job.process.pid)
            job.process.wait(10)
            until(lambda: paceline("list") and not daemon.exists())
            self.assertFalse(daemon.exists())

    def test_killed_while_starting(self):
        for rank_count in (1, 7, 32):
            with Job("-n", rank_count, "--no-tag-output", "sh", "-c",
                     "echo ready; exec sleep 1000") as job:
                job.process.stdout.readline()
                job.process.kill()
                self.assert_gone(job)


class ListedJobs(LauncherTest):
    def id_of(self, job):
        """Of the row with the head's pid."""
        for line in paceline("list").stdout.splitlines():
            if line.split()[1:2] == [str(job.process.pid)]:
                self.assertIn("sh -c", line)
                return line.split()[0]
        return self.fail("the job is not listed")

    def cancel(self, *options):
        with Job("-n", 2, "--no-tag-output", "sh", "-c", STUBBORN if options else
                 "echo ready; exec sleep 1000") as job:
            job.process.stdout.readline()
            name = self.id_of(job)
            done = paceline("cancel", name[:12], *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"job {name} has ended", done.stdout)
            self.assert_gone(job)
            self.assertNotIn(name, paceline("list").stdout)
            return job.process.wait(10)

    def test_cancelled_with_grace(self):
        self.assertEqual(self.cancel(), 143)

    def test_cancelled_at_once(self):
        self.assertEqual(self.cancel("--now"), 130)

    def test_cancelled_while_the_head_is_stopped(self):
        with Job("-n", 1, "sh", "-c", "echo ready; exec sleep 1000") as job:
            job.process.stdout.readline()
            name = self.id_of(job)
            os.kill(job.process.pid, signal.SIGSTOP)
            self.assertEqual(paceline("cancel", name).returncode, 0)
            self.assertEqual(job.process.wait(10), 143)

    def test_wrong_uses(self):
        for arguments, text in ((["cancel"], "'cancel' needs a job"),
                                (["cancel", "xyz"], "there is no job 'xyz'"),
                                (["cancel", "1", "2"], "got a second one, '2'"),
                                (["cancel", "--nwo", "1"], "did you mean '--now'?"),
                                (["status"], "'status' needs a job"),
                                (["status", "xyz"], "there is no job 'xyz'"),
                                (["status", "1", "2"], "got a second one, '2'"),
                                (["status", "--watsh", "1"], "did you mean '--watch'?"),
                                (["list", "all"], "'list' takes no arguments")):
            done = paceline(*arguments)
            self.assertEqual(done.returncode, 125, arguments)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
