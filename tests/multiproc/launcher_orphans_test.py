"""Whoever of the launcher's processes is killed: within two seconds nothing is left."""

import os
import signal
import unittest

from launched import Job, LauncherTest

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

    def test_helper(self):
        self.assertIn("the spawn helper was killed", self.kill(Job.helper, 125))

    def test_agent_and_helper(self):
        def both(job):
            agent = job.agent()
            os.kill(job.helper(), signal.SIGKILL)
            return agent

        with Job("-n", 3, "--no-tag-output", "sh", "-c", "echo ready; exec sleep 1000") as job:
            for _ in range(3):
                job.process.stdout.readline()
            os.kill(both(job), signal.SIGKILL)
            self.assertEqual(job.process.wait(10), 125)
            self.assert_gone(job)

    def test_killed_while_starting(self):
        for rank_count in (1, 7, 32):
            with Job("-n", rank_count, "--no-tag-output", "sh", "-c",
                     "echo ready; exec sleep 1000") as job:
                job.process.stdout.readline()
                job.process.kill()
                self.assert_gone(job)


if __name__ == "__main__":
    unittest.main()
