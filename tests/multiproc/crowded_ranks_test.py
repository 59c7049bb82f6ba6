"""Communicators take no file descriptors, and a rank that has none left is named at once."""

import re
import unittest

from launched import BIN, LauncherTest

RANK = BIN / "multiproc_crowded_rank"
# Far below the default time limit of 300 s of the operations that wait for these ranks.
SOON_S = 5


class Crowded(LauncherTest):
    def printed(self, words, backend):
        """Starts one rank for each word, which it is given, and returns what each has printed."""
        script = "ulimit -n 64; shift $RANK; exec " + str(RANK) + " $1"
        code, output, error = self.run_job("-n", len(words), "--no-tag-output", "sh", "-c", script,
                                           "-", *words, env={"PACELINE_BACKEND": backend})
        self.assertEqual(code, 0, error)
        lines = sorted(output.splitlines())
        self.assertEqual(len(lines), len(words), output)
        return lines

    def test_communicators_share_descriptors(self):
        for backend in ("tcp", "shm"):
            with self.subTest(backend=backend):
                self.assertEqual(self.printed(("", ""), backend),
                                 ["0 1000 splits", "1 1000 splits"])

    def test_all_ranks_name_the_rank_without_descriptors(self):
        for rank, words in ((0, ("full", "")), (1, ("", "full"))):
            with self.subTest(rank=rank):
                for line in self.printed(words, "auto"):
                    self.assertRegex(line, rf"rank {rank}\b.*[Tt]oo many open files", line)
                    took_s = float(re.search(r" (\d+\.\d) ", line).group(1))
                    self.assertLess(took_s, SOON_S, line)


if __name__ == "__main__":
    unittest.main()
