"""Kernels and container profiles without a system call: another call is used, or the error names
the missing one."""

import fcntl
import os
import subprocess
import unittest

from launched import BIN, DEADLINE_S, PACELINE, LauncherTest

WITHOUT = BIN / "multiproc_without_calls"
TRAINER = [BIN / "train_digits", "--epochs", 1]


class WithoutCalls(LauncherTest):
    def launch_without(self, call, *words, **options):
        """Runs the launcher, and all programs that it starts, without this system call."""
        done = subprocess.run([WITHOUT, call, PACELINE, "run", *map(str, words)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE_S,
                              stdin=subprocess.DEVNULL, check=False, **options)
        return done.returncode, done.stdout, done.stderr

    def test_ranks_train(self):
        for call in ("epoll_pwait2", "membarrier", "memfd_create"):
            for backend in ("shm", "tcp"):
                with self.subTest(call=call, backend=backend):
                    code, output, error = self.run_job(
                        "-n", 2, "--", WITHOUT, call, *TRAINER,
                        env={"PACELINE_BACKEND": backend, "PACELINE_TIMEOUT_S": "15"})
                    self.assertEqual(code, 0, error + output)

    def test_the_launcher_without_close_range_gives_ranks_no_descriptor(self):
        own = fcntl.fcntl(0, fcntl.F_DUPFD, 100)  # a number that ranks do not use
        try:
            script = f"readlink /proc/self/fd/{own} || echo none"
            for call in ("none", "close_range"):
                code, output, error = self.launch_without(call, "-n", 1, "sh", "-c", script,
                                                          pass_fds=(own,))
                self.assertEqual((code, output.strip().split()[-1]), (0, "none"), error)
        finally:
            os.close(own)

    def test_the_launcher_names_what_it_cannot_do_without(self):
        for call in ("pidfd_open", "pidfd_send_signal"):
            code, output, error = self.launch_without(call, "-n", 1, "true")
            self.assertEqual((code, output), (125, ""))
            self.assertIn(f"cannot use {call}: Function not implemented", error)
            self.assertIn("Linux 5.3 or later", error)

    def test_the_launcher_works_without_clone3_and_epoll_pwait2(self):
        code, output, error = self.launch_without("clone3,epoll_pwait2", "-n", 2, *TRAINER)
        self.assertEqual(code, 0, error + output)


if __name__ == "__main__":
    unittest.main()
