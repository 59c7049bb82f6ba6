"""Ranks that join the world more than once, and two processes that join as the same rank."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from launched import BIN, LauncherTest

RANK = BIN / "multiproc_renewed_rank"
LIMIT_S = 60


class Renewed(LauncherTest):
    def test_all_ranks_join_again(self):
        for backend in ("shm", "tcp"):
            with self.subTest(backend=backend):
                code, output, error = self.run_job("-n", 3, RANK, "together",
                                                   env={"PACELINE_BACKEND": backend})
                self.assertEqual((code, output, error), (0, "", ""))

    def test_a_rank_that_joins_again_alone_is_told_who_is_missing(self):
        code, output, error = self.run_job("-n", 2, "--no-tag-output", RANK, "alone")
        self.assertEqual(code, 0, error)
        self.assertRegex(output, r"^timeout: .*1 of 2 ranks have not joined the rendezvous: 1\b")


class Twice(unittest.TestCase):
    """Without the launcher, which never starts two processes of one rank."""

    def test_two_processes_of_one_rank_are_told_so(self):
        with tempfile.TemporaryDirectory() as folder:
            key = pathlib.Path(folder) / "key"
            key.write_text("ab" * 32)
            key.chmod(0o600)
            port = subprocess.run(
                ["python3", "-c", "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); "
                 "print(s.getsockname()[1])"],
                capture_output=True, text=True, check=True).stdout.strip()
            ranks = [subprocess.Popen(
                [RANK, "together"], stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, "RANK": rank, "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1",
                     "MASTER_PORT": port, "PACELINE_JOB_KEY_FILE": str(key)})
                for rank in ("0", "1", "1")]
            try:
                outputs = [rank.communicate(timeout=LIMIT_S)[0] for rank in ranks[1:]]
            finally:
                for rank in ranks:
                    rank.kill()
                    rank.communicate()
        pids = {rank.pid for rank in ranks[1:]}
        for rank, output in zip(ranks[1:], outputs):
            other = (pids - {rank.pid}).pop()
            self.assertRegex(output, rf"two processes joined as rank 1: process {rank.pid} on host "
                             rf"\S+ \(this one\), and process {other} on host")


if __name__ == "__main__":
    unittest.main()
