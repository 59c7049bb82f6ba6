"""A rank that waits for a rank which has ended well, or has not joined yet, gets a message."""

import time
import unittest

from launched import BIN, LauncherTest

EARLY = BIN / "multiproc_early_rank"
FIRST = BIN / "multiproc_first_operation"
# Two hosts that are both this machine.
HOSTS = ("-H", "a:1,b:1", "--launch-agent", "env X={host}")
ON_HOSTS = {"PACELINE_NET": "lo"}
DEADLINE_S = 30  # far less than the timeout of operations


class EndedRanks(LauncherTest):
    def lost(self, ended, *words, options=("-n", 2), env=None):
        """Runs a job in which rank `ended` ends with 0. Returns the messages of the others."""
        begin = time.monotonic()
        code, _, error = self.run_job(*options, *words, env=env)
        self.assertLess(time.monotonic() - begin, DEADLINE_S)
        self.assertEqual(code, 1, error)
        self.assertNotIn(f"paceline: rank {ended} on host", error)
        return error

    def before_it_joins(self, ended, program, **options):
        script = f'[ $RANK = {ended} ] && exit 0; exec "$0" "$@"'
        error = self.lost(ended, "sh", "-c", script, *program, **options)
        self.assertIn(f"rank {ended} ended (exit code 0) without joining", error)

    def test_before_it_joins(self):
        for program in ([FIRST], [EARLY, "join"]):
            for ended in (0, 1, 2):
                with self.subTest(program=program[0].name, ended=ended):
                    self.before_it_joins(ended, program, options=("-n", 3))

    def test_before_the_others_begin_to_join(self):
        script = f'[ $RANK = 1 ] && exit 0; sleep 0.5; exec {FIRST}'
        error = self.lost(1, "sh", "-c", script)
        self.assertIn("rank 1 ended (exit code 0) without joining", error)

    def test_on_another_host(self):
        for program in ([FIRST], [EARLY, "join"]):
            for ended in (0, 1):
                with self.subTest(program=program[0].name, ended=ended):
                    self.before_it_joins(ended, program, options=("-n", 2, *HOSTS), env=ON_HOSTS)

    def test_the_first_host_serves_the_others_although_its_ranks_have_ended(self):
        script = f'[ $RANK = 0 ] && exit 0; sleep 1; exec {FIRST}'
        error = self.lost(0, "sh", "-c", script, options=("-n", 2, *HOSTS), env=ON_HOSTS)
        self.assertIn("rank 0 ended (exit code 0) without joining", error)

    def test_once_it_has_joined(self):
        for what in ("reduce", "split"):
            for backend in ("shm", "tcp"):
                with self.subTest(what=what, backend=backend):
                    error = self.lost(1, EARLY, what, env={"PACELINE_BACKEND": backend})
                    self.assertRegex(error, r"peer lost: .*\[rank 1 on ")

    def test_once_it_has_joined_on_another_host(self):
        for what in ("reduce", "split"):
            with self.subTest(what=what):
                error = self.lost(1, EARLY, what, options=("-n", 2, *HOSTS), env=ON_HOSTS)
                self.assertRegex(error, r"peer lost: .*\[rank 1 on ")

    def test_ranks_that_number_themselves_anew_are_not_taken_for_ended_ones(self):
        """Rank 1 becomes rank 0 of the remaining ranks, and joins after them."""
        script = ('[ $RANK = 0 ] && exit 0; [ $RANK = 1 ] && sleep 1; '
                  f'RANK=$((RANK-1)) WORLD_SIZE=2 exec {FIRST}')
        for options in (("-n", 3), ("-n", 3, "-H", "a:1,b:2", *HOSTS[2:])):
            with self.subTest(options=options):
                code, _, error = self.run_job(*options, "sh", "-c", script, env=ON_HOSTS)
                self.assertEqual(code, 0, error)
                self.assertNotIn("without joining", error)

    def test_nobody_waits_for_ranks_that_do_without_the_library(self):
        script = f'[ $RANK = 1 ] && exit 0; sleep 0.3; WORLD_SIZE=1 RANK=0 exec {FIRST}'
        for options in (("-n", 3), ("-n", 2, *HOSTS)):
            code, _, error = self.run_job(*options, "sh", "-c", script, env=ON_HOSTS)
            self.assertEqual(code, 0, error)


class LateRanks(LauncherTest):
    def test_who_has_not_come_yet_is_named_by_one_rank(self):
        script = f'[ $RANK = 1 ] && sleep 3.5; exec {EARLY} join'
        for options in (("-n", 3), ("-n", 2, *HOSTS)):
            code, _, error = self.run_job(*options, "sh", "-c", script,
                                          env={"PACELINE_STALL_S": "1", **ON_HOSTS})
            self.assertEqual(code, 0, error)
            lines = [line for line in error.splitlines() if "have not joined" in line]
            self.assertGreaterEqual(len(lines), 2, error)
            for line in lines:
                self.assertIn("warning: rank 0 of", line)
                self.assertIn("for ranks that have not joined: rank 1", line)


if __name__ == "__main__":
    unittest.main()
