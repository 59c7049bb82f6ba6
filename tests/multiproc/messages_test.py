"""Several messages of each pair of processes at once, in C++ and C, over each transport."""

import unittest

from launched import BIN, LauncherTest

RANK = BIN / "multiproc_message_rank"


class Messages(LauncherTest):
    def run_trials(self, backend):
        for ranks, seed in ((2, 1), (2, 2), (3, 3)):
            with self.subTest(ranks=ranks, seed=seed):
                code, output, error = self.run_job("-n", ranks, RANK, seed, 15,
                                                   env={"PACELINE_BACKEND": backend})
                self.assertEqual((code, output, error), (0, "", ""))

    def test_they_meet_in_the_order_of_their_calls_over_shared_memory(self):
        self.run_trials("shm")

    def test_they_meet_in_the_order_of_their_calls_over_tcp(self):
        self.run_trials("tcp")


if __name__ == "__main__":
    unittest.main()
