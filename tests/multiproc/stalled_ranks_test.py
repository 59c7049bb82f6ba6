"""Messages about a rank that does not join an operation: which rank prints them, when, and where
the stalled rank is."""

import signal
import unittest

from launched import BIN, Job, LauncherTest

RANK = BIN / "multiproc_stopping_rank"
LAST_SEEN = "does not answer and was last in all_reduce(1000 x float32, sum) #2"


class StalledRanks(LauncherTest):
    def test_a_stopped_rank_is_named_at_the_deadline_with_its_last_operation(self):
        with Job("-n", 3, RANK, env={"PACELINE_TIMEOUT_S": "4", "PACELINE_STALL_S": "2"}) as job:
            output = [job.process.stdout.readline().decode() for _ in range(2)]
            job.process.send_signal(signal.SIGTERM)
            _, rest, error = job.wait()
        self.assertEqual(rest, "")
        self.assertEqual({line[:2] for line in output}, {"[0", "[2"})
        for line in output:
            self.assertIn("timeout: not ended after 4 s", line)
            self.assertIn("rank 1 on", line)
            self.assertIn(LAST_SEEN, line)
            self.assertIn("in all_reduce(1000 x float32, sum) #3", line)
        reports = [line for line in error.splitlines() if "has made no progress" in line]
        self.assertTrue(reports, error)
        for line in reports:
            self.assertIn("all_reduce(1000 x float32, sum) #3", line)
            self.assertIn("rank 1 on", line)

    def test_without_a_stall_nothing_is_said(self):
        code, _, error = self.run_job("-n", 3, "--quiet", BIN / "train_digits", "--epochs", 1)
        self.assertEqual((code, error), (0, ""))


if __name__ == "__main__":
    unittest.main()
