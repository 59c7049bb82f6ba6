"""Ranks with buffers on devices, over a stand-in of the CUDA driver: right results, and clear
errors where the driver or the module is missing."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from launched import BIN, DEADLINE_S, PACELINE, LauncherTest

STANDINS = BIN.parent / "standins"
RANK = BIN / "multiproc_device_rank"
PAIR = BIN / "multiproc_device_pair"
LIBRARY = BIN.parent / "lib"


def with_libraries(*folders):
    known = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": ":".join([*map(str, folders), *([known] if known else [])])}


class DeviceRanks(LauncherTest):
    def test_sums_are_right_in_the_order_of_the_stream(self):
        for ranks in (1, 2, 4):
            for seed in (1, 2):
                env = {**with_libraries(STANDINS / "cuda"), "STANDIN_SEED": str(seed)}
                code, output, error = self.run_job("--no-tag-output", "-n", ranks, RANK, env=env)
                self.assertEqual(code, 0, error)
                self.assertEqual(sorted(output.splitlines()),
                                 [f"rank {rank} of {ranks}: right" for rank in range(ranks)])

    def test_a_rank_exits_with_work_pending(self):
        for nccl in ((), ("nccl",), ("nccl_without_revoke",)):
            env = {**with_libraries(STANDINS / "cuda", *(STANDINS / one for one in nccl)),
                   "DEVICE_RANK_EXITS": "1"}
            code, _, error = self.run_job("-n", 2, RANK, env=env)
            self.assertEqual(code, 1, error)
            self.assertRegex(error, "rank 0 on .* called exit()")
            self.assertNotIn("stand-in", error)

    def run_with_nccl(self, library, ranks=2, **env):
        """The messages of a job that must be right."""
        env = {**with_libraries(STANDINS / "cuda", STANDINS / library), "PACELINE_LOG_LEVEL": "info", **env}
        code, output, error = self.run_job("--no-tag-output", "-n", ranks, RANK, env=env)
        self.assertEqual(code, 0, error)
        self.assertEqual(output.count("right"), ranks)
        return error

    def test_nccl_carries_operations_out(self):
        for ranks in (1, 2, 4):
            self.assertIn("GPU memory: NCCL 2.28.9", self.run_with_nccl("nccl", ranks))
        self.assertIn("GPU memory: NCCL 2.28.9", self.run_with_nccl("nccl_without_revoke"))

    def test_one_process_has_two_devices(self):
        for nccl in ((), ("nccl",)):
            env = {**os.environ, "STANDIN_GPUS": "2", "PACELINE_LOG_LEVEL": "info",
                   **with_libraries(STANDINS / "cuda", *(STANDINS / one for one in nccl))}
            ended = subprocess.run([PAIR], env=env, capture_output=True, text=True,
                                   timeout=DEADLINE_S, check=False)
            self.assertEqual((ended.returncode, ended.stdout), (0, "right on 2 devices\n"),
                             ended.stderr)
            self.assertIn("GPU memory: NCCL" if nccl else "GPU memory: through host memory",
                          ended.stderr)

    def test_jobs_run_staged_where_nccl_cannot(self):
        for library, env, why in (
                ("old_nccl", {}, "libnccl.so.2 has no ncclCommInitRankConfig, and is version code "
                                 "22809; NCCL 2.14 or later is needed"),
                ("nccl", {"STANDIN_SHARED_GPUS": "1"}, "rank 0 .* and rank 1 .* use the same GPU"),
                # The other rank waits for half of the timeout.
                ("nccl", {"STANDIN_NCCL_REFUSES": "1", "PACELINE_TIMEOUT_S": "6"},
                 "(a rank could not join|did not join its group in time)"),
                ("nccl", {"PACELINE_NCCL": "0"}, "PACELINE_NCCL is 0")):
            error = self.run_with_nccl(library, **env)
            self.assertRegex(error, "GPU memory: through host memory, because .*" + why)

    def test_over_tcp(self):
        env = {**with_libraries(STANDINS / "cuda"), "PACELINE_BACKEND": "tcp"}
        code, output, error = self.run_job("-n", 2, RANK, env=env)
        self.assertEqual(code, 0, error)
        self.assertEqual(output.count("right"), 2)

    def test_a_driver_that_lacks_a_call_is_refused(self):
        code, _, error = self.run_job("-n", 2, RANK, env=with_libraries(STANDINS / "old_cuda"))
        self.assertNotEqual(code, 0)
        self.assertIn("cannot use the driver: libcuda.so.1 has no cuMemcpyAsync", error)

    def test_a_missing_module_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for library in LIBRARY.glob("libpaceline.so*"):
                shutil.copy(library, folder, follow_symlinks=True)
            env = with_libraries(folder, STANDINS / "cuda")
            linked = subprocess.run(["ldd", RANK], env={**os.environ, **env}, capture_output=True,
                                    text=True, check=True).stdout
            if folder not in linked:
                self.skipTest("the program has a fixed path to libpaceline")
            code, _, error = self.run_job("-n", 2, RANK, env=env)
        self.assertNotEqual(code, 0)
        self.assertIn("need the module paceline_cuda.so, which cannot be loaded", error)

    def test_programs_without_a_driver_load_nothing(self):
        linked = subprocess.run(["ldd", LIBRARY / "libpaceline.so"], capture_output=True, text=True,
                                check=True).stdout
        self.assertIsNone(re.search("cuda|nccl", linked))

    def info(self, **env):
        return subprocess.run([PACELINE, "info"], env={**os.environ, **env}, capture_output=True,
                              text=True, timeout=DEADLINE_S, check=True).stdout.splitlines()[1]

    def test_info_names_the_devices(self):
        cuda = STANDINS / "cuda"
        self.assertEqual(self.info(STANDIN_GPUS="2", **with_libraries(cuda, STANDINS / "nccl")),
                         "GPU memory: CUDA driver 13.0, 2 GPUs; by NCCL 2.28.9")
        self.assertRegex(self.info(**with_libraries(cuda, STANDINS / "old_nccl")),
                         "^GPU memory: CUDA driver 13.0, 1 GPU; through host memory, because "
                         "libnccl.so.2 has no ncclCommInitRankConfig")
        self.assertIn("cannot use the driver: libcuda.so.1 has no cuMemcpyAsync",
                      self.info(**with_libraries(STANDINS / "old_cuda")))
        if not any(pathlib.Path(folder, "libcuda.so.1").exists()
                   for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64")):
            self.assertRegex(self.info(), "^GPU memory: none on this host: libcuda.so.1: ")


if __name__ == "__main__":
    unittest.main()
