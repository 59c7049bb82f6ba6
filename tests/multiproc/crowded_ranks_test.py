"""Ranks that run out of file descriptors are told so at once, and so are the others."""

import re
import unittest

from launched import BIN, LauncherTest

RANK = BIN / "multiproc_crowded_rank"
# Far below the default time limit of 300 s of the operations that wait for these ranks.
SOON_S = 5


class Crowded(LauncherTest):
    def printed(self, limits, backend):
        """Starts one rank for each limit, and returns what each has printed."""
        script = "ulimit -n $1; shift $RANK; ulimit -n $1; exec " + str(RANK)
        code, output, error = self.run_job("-n", len(limits), "--no-tag-output", "sh", "-c", script,
                                           "-", *limits, env={"PACELINE_BACKEND": backend})
        self.assertEqual(code, 0, error)
        lines = sorted(output.splitlines())
        self.assertEqual(len(lines), len(limits), output)
        return lines

    def test_all_ranks_name_the_rank_with_too_few(self):
        for rank, limits in ((0, (64, 1000)), (1, (1000, 64)), (0, (64, 64))):
            with self.subTest(limits=limits):
                for line in self.printed(limits, "tcp"):
                    self.assertRegex(line, rf"exhausted .*split: rank {rank} on \S+ has \d+ of "
                                     r"64 file descriptors left, .*\(ulimit -n\)")
                    took_s = float(re.search(r" (\d+\.\d) ", line).group(1))
                    self.assertLess(took_s, SOON_S, line)

    def test_over_shared_memory_a_split_needs_none(self):
        self.assertEqual(self.printed((64, 64), "shm"), ["0 1000 splits", "1 1000 splits"])


if __name__ == "__main__":
    unittest.main()
