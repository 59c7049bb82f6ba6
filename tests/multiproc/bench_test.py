"""paceline bench: its output, its files, and that no process or file of it remains."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from launched import DEADLINE_S, PACELINE, Mark, until
from support.standins import STANDINS, WITHOUT_NCCL, with_libraries, with_nccl

FIELDS = {"op", "bytes", "ranks", "backend", "buffers", "inplace", "p50_us", "p99_us",
          "algbw_gbps", "busbw_gbps"}


class Bench(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.json = pathlib.Path(holder.name) / "rows.jsonl"

    def bench(self, *words, env=None):
        done = subprocess.run([PACELINE, "bench", *map(str, words)], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=DEADLINE_S, check=False,
                              env={**os.environ, **(env or {})})
        return done.returncode, done.stdout, done.stderr

    def measured(self, *words, env=None):
        code, output, error = self.bench(*words, "--time", 5, "--json", self.json, env=env)
        self.assertEqual((code, error), (0, ""))
        return output, [json.loads(line) for line in self.json.read_text().splitlines()]

    def test_a_line_for_each_size(self):
        for backend in ("auto", "tcp", "raw"):
            output, rows = self.measured("all_reduce", "--bytes", "4:64K:16", "--check",
                                         "--backend", backend)
            self.assertEqual([row["bytes"] for row in rows], [4, 64, 1024, 16384])
            for row in rows:
                self.assertEqual(set(row), FIELDS)
                self.assertEqual((row["op"], row["ranks"], row["backend"], row["buffers"],
                                  row["inplace"]), ("all_reduce", 2, backend, "ordinary", True))
                self.assertGreater(row["p50_us"], 0)
                self.assertGreaterEqual(row["p99_us"], row["p50_us"])
                self.assertAlmostEqual(row["busbw_gbps"], row["algbw_gbps"], places=3)
            table = [line.split() for line in output.splitlines() if not line.startswith("#")]
            self.assertEqual([line[0] for line in table[2:]], ["4", "64", "1024", "16384"])
            self.assertEqual({line[-1] for line in table[2:]}, {"0"}, "wrong elements")

    def test_other_operations_and_ways(self):
        for words, inplace in (
                (("broadcast", "--root", 1, "--bytes", 12, "--check", "-n", 3), True),
                (("barrier",), True),
                (("all_reduce", "--inplace", "no", "--type", "int64", "--op", "max",
                  "--cache", "cold", "--bytes", "1K", "--check"), False)):
            _, rows = self.measured(*words)
            self.assertEqual([row["inplace"] for row in rows], [inplace])
            self.assertEqual(rows[0]["op"], words[0])

    def test_gpu_memory(self):
        words = ("--memory", "device", "--bytes", "4:64K:128", "--check")
        for operation in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast",
                          "reduce", "gather", "scatter", "send", "exchange"):
            output, rows = self.measured(operation, *words, "-n", 2, env=WITHOUT_NCCL)
            self.assertEqual([(row["op"], row["buffers"]) for row in rows],
                             3 * [(operation, "device")])
            lines = [line.split() for line in output.splitlines() if not line.startswith("#")][2:]
            self.assertEqual([(line[-2], line[-1]) for line in lines], 3 * [("-", "0")], output)
            self.assertIn("GPU memory", output)
        env = {**with_nccl("nccl"), "PACELINE_NCCL": "1"}
        _, rows = self.measured("all_reduce", *words, "--inplace", "no", "--against",
                                "PACELINE_NCCL=0,reduce+broadcast", "--pairs", 1, env=env)
        self.assertEqual([row["against"] for row in rows if "against" in row],
                         3 * ["PACELINE_NCCL=0", "reduce+broadcast"])
        code, _, error = self.bench("all_reduce", *words,
                                    env=with_libraries(STANDINS / "no_such_folder"))
        self.assertNotEqual(code, 0)
        self.assertIn("GPU memory needs the NVIDIA driver: libcuda.so.1", error)

    def test_in_turn_with_another(self):
        output, rows = self.measured("all_reduce", "--bytes", "4:64:16", "--against", "raw",
                                     "--pairs", 3, "--check")
        ratios = [row for row in rows if "against" in row]
        self.assertEqual([(row["backend"], row["against"], row["bytes"], row["pairs"])
                          for row in ratios], [("auto", "raw", 4, 3), ("auto", "raw", 64, 3)])
        for row in ratios:
            self.assertGreater(row["ratio_p10"], 0)
            self.assertGreaterEqual(row["ratio_median"], row["ratio_p10"])
        self.assertEqual([row["backend"] for row in rows if "p50_us" in row], 2 * ["auto", "raw"])
        self.assertIn("3 rounds in turn", output)

    def test_in_turn_with_its_parts(self):
        parts = ("reduce+broadcast", "reduce_scatter+all_gather")
        _, rows = self.measured("all_reduce", "-n", 3, "--bytes", "12:3K:256", "--against",
                                ",".join(parts), "--pairs", 1, "--check")
        self.assertEqual([row["against"] for row in rows if "against" in row], 2 * [*parts])
        _, output, error = self.bench("all_reduce", "--bytes", 4, "--against", parts[1])
        self.assertIn("1 elements cannot be divided equally among 2 ranks", output + error)

    def test_steps_of_a_model(self):
        words = ("gradient", "--measure", "none", "--scale", 0.001, "--compute-ms", 5, "--pairs", 2,
                 "--steps", 3, "--json", self.json)
        for kind in ("sleep", "burn"):
            code, output, error = self.bench(*words, "--compute", kind)
            self.assertEqual((code, error), (0, ""))
            row, = (json.loads(line) for line in self.json.read_text().splitlines())
            self.assertEqual((row["op"], row["trace"], row["tensors"], row["ranks"], row["compute"],
                              row["contender"], row["pairs"]),
                             ("gradient", "resnet50", 161, 2, kind, "none", 2))
            self.assertLess(row["error"], 1e-6)
            self.assertGreater(row["exposed_us"], 0)
            self.assertIn("# bound of exposed: ", output)

    def test_wrong_uses_say_what_to_do(self):
        for words, said in ((("al_reduce",), "did you mean 'all_reduce'?"),
                            (("all_reduce", "--json", "/no/such/place"), "(--json)"),
                            (("gradient", "--trace", "bart"), "did you mean 'bert'?"),
                            (("gradient", "--measure", "none", "--json", "/no/such/place"),
                             "--json"),
                            (("all_reduce", "-n", 9999), "ask for fewer ranks")):
            code, output, error = self.bench(*words)
            self.assertEqual((code, output), (125, ""))
            self.assertIn(said, error)

    def test_killed_it_leaves_nothing(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            mark = Mark()
            with subprocess.Popen([PACELINE, "bench", "barrier", "--time", "60000"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env={**os.environ, **mark.variables()}) as bench:
                until(lambda: len(mark.alive()) >= 6)
                bench.send_signal(number)
                bench.wait(DEADLINE_S)
            until(lambda: not mark.alive(), 10)
            self.assertEqual(mark.alive(), [])


if __name__ == "__main__":
    unittest.main()
