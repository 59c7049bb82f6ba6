"""Fault scripts: each kind of fault does what its line says, twice the same."""

import os
import re
import signal
import subprocess
import tempfile
import unittest

from launched import BIN, Job, LauncherTest, fault_script, host_options

STEADY = (BIN / "multiproc_steady_rank", 1000, 3000)
TWICE = range(2)


class Faults(LauncherTest):
    def run_script(self, lines, *words):
        with fault_script(lines) as file:
            return self.run_job("--faults", file, *words)

    def test_a_rank_is_killed_at_an_operation(self):
        for _ in TWICE:
            code, _, error = self.run_script("at operation 100: kill rank 1\n", "-n", 2, *STEADY)
            self.assertEqual(code, 128 + signal.SIGKILL)
            self.assertIn("fault, line 1: at operation 100: kill rank 1: now\n", error)
            self.assertRegex(error, r"rank 1 on .* killed by signal 9 .* its last operation: "
                                    r"all_reduce\(1001 x float32, sum\) #100, running")

    def test_a_rank_is_stopped_for_a_time(self):
        script = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; exit 4"
        for _ in TWICE:
            code, _, error = self.run_script("after 0.2s: stop rank 0 for 1.5s\n", "-n", 1,
                                             "--timings", "sh", "-c", script)
            self.assertEqual(code, 4)
            ended = re.search(r"ranks ended +(\d+)", error)
            self.assertGreater(int(ended[1]), 1800)

    def test_a_rank_gets_a_signal(self):
        script = "trap 'exit 5' USR1; while :; do sleep 0.01; done"
        for _ in TWICE:
            code, _, error = self.run_script("after 0.1s: signal rank 1 USR1\n", "-n", 2, "sh",
                                             "-c", script)
            self.assertEqual(code, 5)
            self.assertIn("rank 1 on", error)

    def test_a_rank_exits_at_an_operation_and_at_the_next_one(self):
        for _ in TWICE:
            code, _, error = self.run_script("at operation 100: exit rank 1 with 7\n", "-n", 2,
                                             *STEADY)
            self.assertEqual(code, 7)
            self.assertIn("fault, line 1: at operation 100: exit rank 1 with 7: now\n", error)
            self.assertRegex(error, r"rank 1 on .* exited with code 7.* its last operation: "
                                    r"all_reduce\(1001 x float32, sum\) #100, running")
            code, _, error = self.run_script("after 0.1s: exit rank 1 with 9\n", "-n", 2,
                                             STEADY[0], 1000, 10_000_000)
            self.assertEqual(code, 9)
            self.assertIn("exit rank 1 with 9: at the rank's next operation\n", error)

    def test_a_rank_exits_in_a_part_of_the_world(self):
        code, _, error = self.run_script("after 0.5s: exit rank 2 with 9\n", "-n", 4,
                                         BIN / "multiproc_part_rank", "go_on")
        self.assertEqual(code, 9)
        self.assertRegex(error, r"rank 2 on .* exited with code 9.* its last operation: "
                                r"all_reduce\(1000 x float32, sum\) #\d+ of split #0, color 0")

    def test_all_processes_of_a_rank_get_a_share_of_a_cpu(self):
        busy = ("import time; time.sleep(0.3); begin, used = time.time(), time.process_time()\n"
                  "while time.time() < begin + 1.5: pass\n"
                  "print((time.process_time() - used) / (time.time() - begin))")
        for _ in TWICE:
            code, output, _ = self.run_script("after 0.1s: slow rank 0 to 20%\n", "-n", 1,
                                              "sh", "-c", 'python3 -c "$1"; exit', "sh", busy)
            self.assertEqual(code, 0)
            self.assertLess(float(output), 0.3)

    def test_a_host_is_killed_and_stopped(self):
        hosts = host_options(self, "a:1,b:1")
        for how, why in (("kill", "the agent is gone"), ("stop", "has not answered for 2 s")):
            with self.subTest(how=how):
                script = f"at operation 50 of rank 1: {how} host b\n"
                with fault_script(script) as file, \
                        Job("--faults", file, *hosts, "-n", 2, "--max-silence", 2, "--grace", 1,
                            *STEADY) as job:
                    code, _, error = job.wait()
                    # The job does not wait for the processes of a host that it has lost.
                    self.assert_gone(job)
                self.assertNotEqual(code, 0)
                self.assertRegex(error, f"host b: (the agent )?.*{why}")

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount a small disk")
    def test_a_disk_is_filled_for_a_time(self):
        rank = ('sleep 0.4; dd if=/dev/zero of={0}/x bs=4k count=100 2>/dev/null && exit 6; '
                'sleep 0.8; dd if=/dev/zero of={0}/x bs=4k count=100 2>/dev/null')
        with tempfile.TemporaryDirectory() as disk, \
                fault_script(f"after 0.1s: fill {disk} on host {os.uname().nodename} for 0.8s\n"
                            ) as file:
            words = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=8m none {disk} && "
                     f"exec {BIN / 'paceline'} run -n 1 --faults {file} "
                     f"sh -c '{rank.format(disk)}'"]
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(": now\n", done.stderr)

    def test_faults_of_a_restart(self):
        script = "echo start $TORCHELASTIC_RESTART_COUNT; exec sleep 1"
        code, output, error = self.run_script(
            "after 0.1s: kill rank 0\nin restart 1, after 0.2s: kill rank 1\n", "-n", 2,
            "--max-restarts", 2, "--restart-delay", 0.1, "sh", "-c", script)
        self.assertEqual(code, 0, error)
        self.assertEqual(output.count("start 2\n"), 2)
        self.assertRegex(error, r"(?s)rank 0 on .* killed by signal 9.*rank 1 on .* killed by sig")

    def test_a_fault_after_the_end_of_the_ranks_does_not_happen(self):
        # The agent of the first host stays, for the store.
        code, _, error = self.run_script("after 0.8s: kill host a\n",
                                         *host_options(self, "a:1,b:1"), "-n", 2, "sh", "-c",
                                         '[ $TEST_HOST = a ] || sleep 1.5')
        self.assertEqual(code, 0, error)
        self.assertIn("kill host a: the ranks have ended before\n", error)
        code, output, error = self.run_script(
            "after 0.1s: kill rank 0\nafter 0.8s: kill host a\n", *host_options(self, "a:1"),
            "-n", 1, "--max-restarts", 1, "--restart-delay", 1.5, "sh", "-c",
            "[ $TORCHELASTIC_RESTART_COUNT = 0 ] && exec sleep 100; echo restarted")
        self.assertEqual(code, 0, error)
        self.assertIn("kill host a: the ranks have ended before\n", error)
        self.assertIn("restarted\n", output)

    def test_what_the_job_does_not_have_is_refused(self):
        for line, why in (("after 1s: kill rank 2", "the job has no rank 2"),
                          ("after 1s: kill host zz", "no rank of the job runs on host zz"),
                          ("after x: kill rank 0", "is not a time")):
            code, _, error = self.run_script(f"\n{line}\n", "-n", 2, "true")
            self.assertEqual(code, 125)
            self.assertIn(f"line 2: ", error)
            self.assertIn(why, error)
        code, _, error = self.run_script("after 1s: drop 5% from host a to b\n",
                                         *host_options(self, "a:1,b:1"), "-n", 2, "true")
        self.assertEqual(code, 125)
        self.assertIn("line 1: hosts a and b have the same address", error)
        code, _, error = self.run_job("-n", 1, "--faults", "/no/such/file", "true")
        self.assertEqual(code, 125)
        self.assertIn("cannot read the faults '/no/such/file'", error)


if __name__ == "__main__":
    unittest.main()
