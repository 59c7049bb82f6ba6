"""Restarts of all ranks after one has failed: --max-restarts."""

import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from launched import BIN, Job, LauncherTest, host_options, read, until

RANK = BIN / "multiproc_first_operation"


def fails_until(count, rank=1, code=3):
    """Rank `rank` fails in the first `count` starts. The others wait for its start to end."""
    return (f"echo rank $RANK start $TORCHELASTIC_RESTART_COUNT; "
            f"[ $TORCHELASTIC_RESTART_COUNT -ge {count} ] && exit 0; "
            f"[ $RANK = {rank} ] && sleep 0.3 && exit {code}; exec sleep 1000")


class Restarts(LauncherTest):
    def restarted(self, *words, restarts=3):
        return self.run_job("--max-restarts", restarts, "--restart-delay", 0.1, *words)

    def test_all_ranks_start_again_until_all_succeed(self):
        code, output, error = self.restarted("-n", 3, "sh", "-c", fails_until(2))
        self.assertEqual(code, 0)
        for start in range(3):
            for rank in range(3):
                self.assertIn(f"rank {rank} start {start}\n", output)
        self.assertRegex(error, r"rank 1 on host \S+ \(pid \d+\) exited with code 3; peak memory "
                                r"\d+ .iB; ending 2 ranks; restart 1 of 3 in 0\.1 s\n")
        self.assertIn("; restart 2 of 3 in 0.2 s\n", error)

    def test_the_last_failure_ends_the_job(self):
        code, _, error = self.restarted("-n", 2, "sh", "-c", fails_until(9, code=7), restarts=1)
        self.assertEqual(code, 7)
        self.assertIn("; restart 1 of 1 in 0.1 s\n", error)
        self.assertIn("; no restart is left of 1; ending 1 rank\n", error)

    def test_on_two_hosts(self):
        code, output, error = self.restarted(
            *host_options(self, "a:2,b:2"), "-n", 4, "sh", "-c", fails_until(1, rank=3))
        self.assertEqual(code, 0, error)
        self.assertEqual(output.count("start 1\n"), 4)
        self.assertRegex(error, r"rank 3 on host b .*; restart 1 of 3 in 0\.1 s\n")

    def test_each_start_has_a_store_of_its_own(self):
        script = (f"{RANK} || exit; [ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0; "
                  "[ $RANK = 1 ] && exit 3; exec sleep 1000")
        for hosts in ((), host_options(self, "a:2,b:1")):
            with self.subTest(hosts=hosts):
                code, _, error = self.restarted(*hosts, "-n", 3, "sh", "-c", script)
                self.assertEqual(code, 0, error)
                self.assertIn("; restart 1 of 3", error)

    def test_nothing_of_a_start_is_left_in_the_next(self):
        script = ("[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0; "
                  "setsid sleep 1000 & sleep 1000 & echo $$ $!; sleep 0.2; exit 3")
        with Job("-n", 1, "--max-restarts", 1, "--restart-delay", 3, "sh", "-c", script) as job:
            self.assertIn(b"restart 1 of 1", job.process.stderr.readline())
            self.assertTrue(until(lambda: not [pid for pid in job.alive()
                                               if read(f"/proc/{pid}/comm") == b"sleep\n"]))
            self.assertEqual(job.wait()[0], 0)

    def test_files_of_a_restart_have_a_folder_of_their_own(self):
        with tempfile.TemporaryDirectory() as folder:
            code, _, _ = self.restarted("-n", 2, "--output-dir", folder, "sh", "-c",
                                        fails_until(1))
            self.assertEqual(code, 0)
            for place, start in (("", 0), ("restart.1", 1)):
                path = pathlib.Path(folder, place, "rank.1", "stdout")
                self.assertEqual(path.read_text(), f"rank 1 start {start}\n")

    def test_a_restart_reads_the_rest_of_the_input(self):
        script = "read line; echo got $line; [ $TORCHELASTIC_RESTART_COUNT = 1 ] || exit 3"
        for hosts in ((), host_options(self, "a:1")):
            with self.subTest(hosts=hosts), \
                    Job("-n", 1, *hosts, "--max-restarts", 1, "--restart-delay", 0.1, "sh", "-c",
                        script, stdin=subprocess.PIPE) as job:
                job.process.stdin.write(b"one\n")
                job.process.stdin.flush()
                self.assertEqual(job.process.stdout.readline(), b"got one\n")
                self.assertIn(b"restart 1", job.process.stderr.readline())
                job.process.stdin.write(b"two\n")
                job.process.stdin.close()
                job.process.stdin = None
                code, output, _ = job.wait()
                self.assertEqual((code, output), (0, "got two\n"))

    @contextlib.contextmanager
    def during_the_delay(self):
        """A job whose ranks have ended, and start again in a minute."""
        with Job("-n", 2, "--max-restarts", 1, "--restart-delay", 60, "sh", "-c",
                 fails_until(1)) as job:
            self.assertIn(b"restart 1 of 1 in 60 s", job.process.stderr.readline())
            time.sleep(0.3)
            begin = time.monotonic()
            yield job
            self.assertLess(time.monotonic() - begin, 10)

    def test_a_signal_during_the_delay_ends_the_job(self):
        with self.during_the_delay() as job:
            job.process.send_signal(signal.SIGTERM)
            self.assertEqual(job.wait()[0], 143)

    def test_a_killed_agent_ends_the_job_during_the_delay(self):
        with self.during_the_delay() as job:
            os.kill(job.agent(), signal.SIGKILL)
            code, _, error = job.wait()
            self.assertEqual(code, 125)
            self.assertIn("no restart: no host is left", error)

    def test_an_agent_that_gets_a_signal_during_the_delay_ends_the_job(self):
        with self.during_the_delay() as job:
            os.kill(job.agent(), signal.SIGTERM)
            code, _, error = job.wait()
            self.assertEqual(code, 143)
            self.assertIn("the agent received SIGTERM", error)

    def test_a_process_that_ignores_sigterm_does_not_outlive_a_start(self):
        script = "(trap '' TERM; while :; do sleep 1; done) & exit 3"
        begin = time.monotonic()
        code, _, error = self.restarted("-n", 1, "sh", "-c", script, restarts=2)
        self.assertEqual(code, 3)
        self.assertIn("no restart is left of 2", error)
        self.assertLess(time.monotonic() - begin, 8)

    def test_agents_end_with_a_job_that_could_restart(self):
        begin = time.monotonic()
        code, _, _ = self.restarted(*host_options(self, "a:1,b:1"), "-n", 2, "true")
        self.assertEqual(code, 0)
        self.assertLess(time.monotonic() - begin, 4)

    def test_starts_that_do_not_come_to_an_operation_make_no_progress(self):
        script = f"[ $RANK = 1 ] && sleep 0.4 && exit 3; exec {RANK}"
        code, _, error = self.restarted("-n", 2, "sh", "-c", script, restarts=9)
        self.assertEqual(code, 3, error)
        self.assertIn("no progress, 3 starts in a row ended before the first operation", error)

    def test_options_that_mean_nothing_are_refused(self):
        for words, why in ((("--restart-delay", 2), "need --max-restarts"),
                           (("--max-restarts", -1), "is not a whole number from 0 to"),
                           (("--max-restarts", "many"), "is not a whole number from 0 to"),
                           (("--max-restarts", 1, "--restart-window", "x"), "is not a time")):
            with self.subTest(words=words):
                code, _, error = self.run_job("-n", 1, *words, "true")
                self.assertEqual(code, 125)
                self.assertIn(why, error)


if __name__ == "__main__":
    unittest.main()
