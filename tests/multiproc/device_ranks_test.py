"""Ranks with buffers on devices, over stand-ins of the CUDA driver and of NCCL."""

import os
import subprocess
import unittest

from launched import BIN, DEADLINE_S, LauncherTest
from support.standins import WITHOUT_NCCL, with_nccl

RANK = BIN / "multiproc_device_rank"
PAIR = BIN / "multiproc_device_pair"


class DeviceRanks(LauncherTest):
    def test_sums_are_right_in_the_order_of_the_stream(self):
        for ranks in (1, 2, 4):
            for seed in (1, 2):
                env = {**WITHOUT_NCCL, "STANDIN_SEED": str(seed)}
                code, output, error = self.run_job("--no-tag-output", "-n", ranks, RANK, env=env)
                self.assertEqual(code, 0, error)
                self.assertEqual(sorted(output.splitlines()),
                                 [f"rank {rank} of {ranks}: right" for rank in range(ranks)])

    def test_a_rank_exits_with_work_pending(self):
        for libraries in (WITHOUT_NCCL, with_nccl("nccl"), with_nccl("nccl_without_revoke")):
            env = {**libraries, "DEVICE_RANK_EXITS": "1"}
            code, _, error = self.run_job("-n", 2, RANK, env=env)
            self.assertEqual(code, 1, error)
            self.assertRegex(error, "rank 0 on .* called exit()")
            self.assertNotIn("stand-in", error)

    def test_nccl_carries_operations_out(self):
        for library, ranks in (("nccl", 1), ("nccl", 2), ("nccl", 4), ("nccl_without_revoke", 2)):
            env = {**with_nccl(library), "PACELINE_LOG_LEVEL": "info"}
            code, output, error = self.run_job("--no-tag-output", "-n", ranks, RANK, env=env)
            self.assertEqual(code, 0, error)
            self.assertEqual(output.count("right"), ranks)
            self.assertIn("GPU memory: NCCL 2.28.9", error)

    def test_one_process_has_two_devices(self):
        for libraries in (WITHOUT_NCCL, with_nccl("nccl")):
            env = {**os.environ, "STANDIN_GPUS": "2", "PACELINE_LOG_LEVEL": "info", **libraries}
            ended = subprocess.run([PAIR], env=env, capture_output=True, text=True,
                                   timeout=DEADLINE_S, check=False)
            self.assertEqual((ended.returncode, ended.stdout), (0, "right on 2 devices\n"),
                             ended.stderr)
            self.assertIn("GPU memory: through host memory" if libraries is WITHOUT_NCCL
                          else "GPU memory: NCCL", ended.stderr)

    def test_a_pipeline_in_c_averages(self):
        for libraries in (WITHOUT_NCCL, with_nccl("nccl")):
            for ranks, codec in ((1, "none"), (2, "none"), (3, "none"), (2, "bf16"), (3, "bf16")):
                env = {**libraries, "DEVICE_RANK_PIPELINE": codec}
                code, output, error = self.run_job("--no-tag-output", "-n", ranks, RANK, env=env)
                self.assertEqual(code, 0, error)
                self.assertEqual(output.count("right"), ranks)

    def test_over_tcp(self):
        env = {**WITHOUT_NCCL, "PACELINE_BACKEND": "tcp"}
        code, output, error = self.run_job("-n", 2, RANK, env=env)
        self.assertEqual(code, 0, error)
        self.assertEqual(output.count("right"), 2)


if __name__ == "__main__":
    unittest.main()
