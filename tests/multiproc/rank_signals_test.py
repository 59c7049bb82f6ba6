"""Signals that the launcher passes to its ranks: which processes of a rank get them, and when."""

import signal
import unittest

from launched import Job, LauncherTest

# Says by which signal its child has ended: SIGKILL if nothing else has come to it before.
PARENT = ("sleep 1000 & child=$!; "
          "trap 'kill -KILL $child; wait $child; echo $?; exit 0' TERM USR1; "
          "echo ready; while :; do sleep 0.02; done")
# Ends by SIGTERM at once, and leaves a process that does what `rest` says.
WRAPPER = "({rest}; echo ready; while :; do sleep 0.02; done) & wait"
# Has a child, and waits for its end. Then it says how many signals it has got.
COUNTING = """
import signal, subprocess
got = []
signal.signal(signal.SIGTERM, lambda number, _: got.append(number))
child = subprocess.Popen(["sleep", "1000"])
print("ready", flush=True)
child.wait()
print(len(got), -child.returncode)
"""


class RankSignals(LauncherTest):
    def ended(self, number, *arguments):
        """Exit code and output of a job of one rank that got a signal when it was ready."""
        with Job("-n", 1, *arguments) as job:
            self.assertEqual(job.process.stdout.readline(), b"ready\n")
            job.process.send_signal(number)
            code, output, _ = job.wait()
            self.assertEqual(job.alive(), [], "processes are left")
            return code, output

    def test_a_signal_goes_to_the_main_process(self):
        for number in (signal.SIGTERM, signal.SIGUSR1):
            with self.subTest(number):
                self.assertEqual(self.ended(number, "--grace", 60, "sh", "-c", PARENT),
                                 (0, f"{128 + signal.SIGKILL}\n"))

    def test_or_to_the_whole_group(self):
        for number in (signal.SIGTERM, signal.SIGUSR1):
            with self.subTest(number):
                self.assertEqual(self.ended(number, "--signal-groups", "sh", "-c", PARENT),
                                 (0, f"{128 + number}\n"))

    def test_when_the_main_process_has_ended_the_rest_gets_sigterm_and_the_grace(self):
        saving = WRAPPER.format(rest="trap 'sleep 0.3; echo saved; exit 0' TERM")
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                # A background process of sh ignores SIGINT, and is told by SIGTERM.
                self.assertEqual(self.ended(number, "--grace", 60, "sh", "-c", saving),
                                 (128 + number, "saved\n"))

    def test_a_rest_that_ignores_it_is_killed_at_the_end_of_the_grace(self):
        stubborn = WRAPPER.format(rest="trap '' TERM")
        self.assertEqual(self.ended(signal.SIGTERM, "--grace", 0.5, "sh", "-c", stubborn),
                         (128 + signal.SIGTERM, ""))

    def test_at_half_of_the_grace_the_rest_gets_sigterm_and_the_main_process_does_not(self):
        code, output = self.ended(signal.SIGTERM, "--grace", 4, "python3", "-c", COUNTING)
        self.assertEqual((code, output), (0, f"1 {int(signal.SIGTERM)}\n"))

    def test_what_a_failed_rank_leaves_is_killed_at_once(self):
        script = ("trap 'exit 3' USR1; "
                  "(trap 'echo told' TERM; kill -USR1 $$; while :; do sleep 0.02; done) & wait")
        self.assertEqual(self.run_job("-n", 1, "sh", "-c", script)[:2], (3, ""))


if __name__ == "__main__":
    unittest.main()
