"""How jobs end, and with which exit code."""

import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

from launched import BIN, DEADLINE_S, HOST, PACELINE, Job, LauncherTest, surroundings, until

WAIT = "echo ready; exec sleep 1000"


class Ends(LauncherTest):
    def test_success(self):
        self.assertEqual(self.run_job("-n", 3, "--", "true"), (0, "", ""))

    def test_code_of_the_failing_rank(self):
        code, _, error = self.run_job(
            "-n", 4, "sh", "-c", "[ $RANK = 2 ] && exit 37; exec sleep 1000")
        self.assertEqual(code, 37)
        self.assertRegex(error, rf"^paceline: rank 2 on host {HOST} \(pid \d+\) exited with code "
                                r"37; peak memory \d+ [KM]iB; ending 3 ranks\n"
                                r"paceline: other ranks ended: 3 stopped by SIGTERM\n$")

    def test_signal_of_the_failing_rank(self):
        code, _, error = self.run_job(
            "-n", 2, "sh", "-c", "[ $RANK = 1 ] && kill -SEGV $$; exec sleep 1000")
        self.assertEqual(code, 128 + signal.SIGSEGV)
        self.assertIn("rank 1", error)
        self.assertIn("was killed by signal 11 (Segmentation fault", error)

    def test_a_rank_that_is_killed_from_outside(self):
        with Job("-n", 2, "--no-tag-output", "sh", "-c", "echo $$; exec sleep 1000") as job:
            victim = int(job.process.stdout.readline())
            os.kill(victim, signal.SIGKILL)
            code, _, error = job.wait()
        self.assertEqual(code, 128 + signal.SIGKILL)
        self.assertIn(f"(pid {victim})", error)

    def test_of_two_that_end_while_nobody_looks_the_first_is_blamed(self):
        script = "trap 'exit 1' USR1; echo $RANK $$; while :; do sleep 0.01; done"
        for first, code in (("0", 1), ("1", 128 + signal.SIGSEGV)):
            with self.subTest(first=first), \
                    Job("-n", 2, "--no-tag-output", "sh", "-c", script) as job:
                pids = dict(job.process.stdout.readline().decode().split() for _ in range(2))
                helper = job.helper()
                os.kill(helper, signal.SIGSTOP)  # so that it sees both ends at once
                for rank in sorted(pids, reverse=first == "1"):
                    pid = int(pids[rank])
                    os.kill(pid, signal.SIGUSR1 if rank == "0" else signal.SIGSEGV)
                    self.assertTrue(until(lambda pid=pid: pid not in job.alive()))
                    # It is gone from /proc before the kernel announces its end, the signal last.
                    self.assertTrue(until(lambda: job.is_pending(helper, signal.SIGCHLD)))
                os.kill(helper, signal.SIGCONT)
                ended, _, error = job.wait()
                self.assertEqual(ended, code)
                self.assertRegex(error, rf"^paceline: rank {first} ")

    def test_the_others_are_not_blamed(self):
        with tempfile.TemporaryDirectory() as folder:
            # Rank 0 ends once the others have said what they do when they are told to.
            code, _, error = self.run_job(
                "-n", 3, "sh", "-c",
                f"cd {folder}; [ $RANK = 0 ] && until [ -e 1 ] && [ -e 2 ]; do sleep 0.01; done && "
                "exit 5; trap 'exit 9' TERM; sleep 1000 & > $RANK; wait")
        self.assertEqual(code, 5)
        self.assertEqual(len(re.findall(r"^paceline: rank", error, re.MULTILINE)), 1)
        self.assertIn("other ranks ended: 2 with an error of their own", error)

    def test_grace_then_kill(self):
        code, _, _ = self.run_job(
            "-n", 2, "--grace", "0.2", "sh", "-c",
            "[ $RANK = 0 ] && { sleep 0.2; exit 4; }; trap '' TERM; while :; do sleep 1; done")
        self.assertEqual(code, 4)

    def test_timeout(self):
        code, _, error = self.run_job("-n", 2, "--timeout", "0.2", "sleep", 1000)
        self.assertEqual(code, 124)
        self.assertIn("--timeout of 0.2 s; ending 2 ranks", error)

    def signalled(self, number, script, *options):
        with Job("-n", 2, "--no-tag-output", *options, "sh", "-c", script) as job:
            for _ in range(2):
                self.assertEqual(job.process.stdout.readline(), b"ready\n")
            job.process.send_signal(number)
            code, _, _ = job.wait()
            self.assertEqual(job.alive(), [])
            return code

    def test_interrupt(self):
        self.assertEqual(self.signalled(signal.SIGINT, WAIT), 130)

    def test_terminate(self):
        self.assertEqual(self.signalled(signal.SIGTERM, WAIT), 143)

    def test_hang_up(self):
        self.assertEqual(self.signalled(signal.SIGHUP, WAIT), 129)

    def test_terminated_ranks_that_all_succeed(self):
        script = "trap 'kill $!; exit 0' TERM; sleep 1000 & echo ready; wait"
        self.assertEqual(self.signalled(signal.SIGTERM, script), 0)

    def test_a_second_interrupt_kills(self):
        script = "trap '' INT; echo ready; while :; do sleep 1; done"
        with Job("-n", 2, "--no-tag-output", "--grace", 1000, "sh", "-c", script) as job:
            for _ in range(2):
                job.process.stdout.readline()
            job.process.send_signal(signal.SIGINT)
            self.assertIn(b"SIGINT came", job.process.stderr.readline())
            time.sleep(0.3)  # two signals within 0.2 s are one request
            job.process.send_signal(signal.SIGINT)
            self.assertEqual(job.wait()[0], 130)

    def test_a_reader_that_has_gone(self):
        with Job("-n", 4, "yes") as job:
            self.assertRegex(job.process.stdout.readline(), rb"^\[\d@")
            job.process.stdout.close()
            error = job.process.stderr.read()
            self.assertEqual(job.process.wait(20), 128 + signal.SIGPIPE)
            self.assertEqual(error, b"")
            self.assert_gone(job)

    def test_a_reader_that_does_not_read_holds_up_neither_signals_nor_timeout(self):
        with Job("-n", 2, "--timeout", "0.5", "--grace", 1, "yes") as job:
            self.assertEqual(job.process.wait(20), 124)
            self.assertIn(b"not all output could be written", job.process.stderr.read())

    def blocked_after_a_failure(self, *options):
        """Rank 0 fails. Rank 1 then writes without end, but nobody reads."""
        script = ("trap yes TERM; echo ready; until [ $RANK = 0 ] && read line; "
                  "do sleep 0.02; done; exit 3")
        return Job("-n", 2, "--grace", 1, *options, "sh", "-c", script, stdin=subprocess.PIPE)

    def fail_rank_0(self, job):
        for _ in range(2):  # a rank without its trap ends at once, and writes nothing
            job.process.stdout.readline()
        job.process.stdin.write(b"\n")
        job.process.stdin.flush()
        self.assertIn(b"rank 0 on", job.process.stderr.readline())

    def assert_output_is_given_up(self, job):
        self.assertEqual(job.process.wait(30), 3)
        self.assertIn(b"not all output could be written", job.process.stderr.read())
        self.assert_gone(job)

    def test_a_signal_ends_a_failed_job_whose_output_nobody_reads(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number), self.blocked_after_a_failure() as job:
                self.fail_rank_0(job)
                job.process.send_signal(number)
                self.assert_output_is_given_up(job)

    def test_the_timeout_ends_a_failed_job_whose_output_nobody_reads(self):
        with self.blocked_after_a_failure("--timeout", 4) as job:
            self.fail_rank_0(job)
            self.assert_output_is_given_up(job)

    def test_what_a_rank_leaves_behind_goes_with_it(self):
        code, output, _ = self.run_job(
            "-n", 2, "sh", "-c", "sleep 1000 & setsid sleep 1000 & echo done")
        self.assertEqual(code, 0)
        self.assertEqual(output.count("done"), 2)


class LastOperations(LauncherTest):
    RANK = BIN / "multiproc_flight_rank"
    PART = BIN / "multiproc_part_rank"

    def test_of_the_failing_rank(self):
        code, _, error = self.run_job("-n", 3, self.RANK, "fail")
        self.assertEqual(code, 3)
        self.assertRegex(error, r"rank 1 on host .* exited with code 3; .*its last operation: "
                                r"all_reduce\(1000 x float32, sum\) #1[12], running for \d")

    def test_in_a_part_of_the_world(self):
        code, _, error = self.run_job("-n", 4, self.PART, "end")
        self.assertEqual(code, 3)
        self.assertRegex(error, r"rank 3 on host .* exited with code 3; .*its last operation: "
                                r"all_reduce\(1000 x float32, sum\) #1 of split #0, color 1, "
                                r"running for \d")

    def test_of_who_waited_in_a_part_for_a_rank_by_its_number_in_the_world(self):
        code, _, error = self.run_job("-n", 4, self.PART, "stall")
        self.assertEqual(code, 4)
        self.assertRegex(error, r"rank 1 on host .* exited with code 4; .*its last operation: "
                                r"all_reduce\(1000 x float32, sum\) #1 of split #0, color 1, "
                                r"failed after .*its error names rank 3 .*as the cause")

    def test_of_ranks_that_a_timeout_stops(self):
        code, _, error = self.run_job("-n", 2, "--timeout", "0.5", self.RANK, "hang")
        self.assertEqual(code, 124)
        for rank in (0, 1):
            self.assertRegex(error, rf"rank {rank} on .* was stopped; its last operation: all_red")


class WrongUse(LauncherTest):
    def assert_refused(self, code, text, *arguments, **options):
        got, output, error = self.run_job(*arguments, **options)
        self.assertEqual((got, output), (code, ""))
        self.assertIn(text, error)

    def test_arguments(self):
        self.assert_refused(125, "'0' is not a whole number from 1", "-n", 0, "true")
        self.assert_refused(125, "no program to run", "-n", 2)
        self.assert_refused(125, "did you mean '--tag-output'?", "--tag-ouput", "true")
        self.assert_refused(125, "option -n needs a value", "-n")

    def test_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "plain")
            with open(plain, "w", encoding="ascii") as file:
                file.write("text\n")
            self.assert_refused(127, "there is no program 'no-such-program' in PATH",
                                "-n", 2, "no-such-program")
            self.assert_refused(127, "there is no program", "-n", 2, "./no-such-program")
            self.assert_refused(126, "is not an executable file", "-n", 2, plain)
            self.assert_refused(126, "is not an executable file", "-n", 2, folder)
            os.chmod(plain, 0o755)
            with open(plain, "w", encoding="ascii") as file:
                file.write("#!/no/such/interpreter\n")
            lost = f"'{plain}' needs the interpreter '/no/such/interpreter', which does not exist"
            self.assert_refused(127, lost, "-n", 2, plain)
            self.assert_refused(127, "cannot enter the working directory", "-n", 2, "--wdir",
                                folder + "/none", "true")

    def test_a_file_system_on_which_nothing_may_be_executed(self):
        if not surroundings.may_mount():
            self.skipTest("this user may have no mount namespace")
        script = ('mount -t tmpfs -o noexec tmpfs "$1" && cp /bin/true "$1" && '
                  'exec "$0" run -n 1 "$1/true"')
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["unshare", "-m", "sh", "-c", script, PACELINE, folder],
                                  capture_output=True, stdin=subprocess.DEVNULL, text=True,
                                  timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn("is on a file system that is mounted noexec", done.stderr)

    def test_a_script_without_interpreter_line(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "script")
            with open(script, "w", encoding="ascii") as file:
                file.write('echo "rank $RANK of $1"\n')
            os.chmod(script, 0o755)
            code, output, _ = self.run_job("-n", 1, script, "one")
            self.assertEqual((code, output), (0, "rank 0 of one\n"))


if __name__ == "__main__":
    unittest.main()
