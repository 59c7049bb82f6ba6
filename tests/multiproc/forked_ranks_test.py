"""A forked child is refused every call, at once, and its parent's sums stay right."""

import unittest

from launched import BIN, LENIENT, LauncherTest

BACKENDS = ("auto", "tcp")
ENDS = ("exit", "_exit")


class ForkedRanks(LauncherTest):
    def check(self, program):
        for backend in BACKENDS:
            for end in ENDS:
                with self.subTest(backend=backend, end=end):
                    code, output, error = self.run_job(
                        "-n", 2, BIN / program, end,
                        env={"PACELINE_BACKEND": backend, "PACELINE_TIMEOUT_S": "30",
                             **LENIENT})
                    self.assertEqual((code, output, error), (0, "", ""))

    def test_a_child_is_refused_every_call_in_cpp(self):
        self.check("multiproc_forked_rank")

    def test_a_child_is_refused_every_call_in_c(self):
        self.check("multiproc_forked_rank_in_c")


if __name__ == "__main__":
    unittest.main()
