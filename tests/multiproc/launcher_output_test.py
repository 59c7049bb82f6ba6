"""What ranks write arrives whole, tagged, and byte for byte."""

import collections
import hashlib
import os
import pty
import random
import re
import subprocess
import sys
import unittest

from launched import HOST, Job, LauncherTest

WRITE_BLOCKS = """
import os, sys
seed = int(sys.argv[1]) + int(os.environ["RANK"])
for i in range(int(sys.argv[2])):
    sys.stdout.buffer.write(b"%d %d " % (seed, i) + bytes([33 + (seed * i + j) % 90 for j in
                            range((seed * 37 + i * 101) % 301)]) + b"\\n")
"""


class Output(LauncherTest):
    def test_tags(self):
        _, output, error = self.run_job("-n", 2, "sh", "-c", "echo out $RANK; echo err $RANK >&2")
        self.assertEqual(sorted(output.splitlines()), [f"[{r}@{HOST}] out {r}" for r in (0, 1)])
        self.assertEqual(sorted(error.splitlines()), [f"[{r}@{HOST}] err {r}" for r in (0, 1)])

    def test_tags_as_asked(self):
        self.assertEqual(self.run_job("-n", 1, "echo", "a")[1], "a\n")
        self.assertEqual(self.run_job("-n", 1, "--tag-output", "echo", "a")[1], f"[0@{HOST}] a\n")
        self.assertEqual(self.run_job("-n", 2, "--no-tag-output", "echo", "a")[1], "a\na\n")

    def test_unfinished_lines_are_finished(self):
        _, output, _ = self.run_job("-n", 2, "printf", "half")
        self.assertEqual(sorted(output.splitlines(True)),
                         [f"[0@{HOST}] half\n", f"[1@{HOST}] half\n"])
        self.assertEqual(self.run_job("-n", 1, "printf", "half")[1], "half")

    def test_only_the_last_of_overwritten_lines_shows(self):
        _, output, _ = self.run_job("-n", 2, "printf", r"10%%\r20%%\rdone\n30%%\r40%%\r")
        for rank in (0, 1):
            tag = f"[{rank}@{HOST}] "
            self.assertEqual([line for line in output.splitlines() if line.startswith(tag)],
                             [tag + "done", tag + "40%"])

    def test_the_last_words_of_a_killed_rank(self):
        code, output, _ = self.run_job(
            "-n", 2, "sh", "-c", "[ $RANK = 1 ] || exec sleep 1000; printf last; kill -9 $$")
        self.assertEqual((code, output), (137, f"[1@{HOST}] last\n"))

    def test_large_output_of_one_rank_is_exact(self):
        size = 30_000_011
        script = f"import sys, random; sys.stdout.buffer.write(random.Random(7).randbytes({size}))"
        with Job("-n", 1, sys.executable, "-c", script) as job:
            digest, length = hashlib.sha256(), 0
            while chunk := job.process.stdout.read(1 << 16):
                digest.update(chunk)
                length += len(chunk)
            self.assertEqual(job.process.wait(20), 0)
        self.assertEqual(length, size)
        self.assertEqual(digest.digest(),
                         hashlib.sha256(random.Random(7).randbytes(size)).digest())

    def test_large_output_of_many_ranks_is_exact_and_unmixed(self):
        ranks, lines = 6, 20_000
        with Job("-n", ranks, sys.executable, "-c", WRITE_BLOCKS, 3, lines) as job:
            output, _ = job.process.communicate(timeout=120)
            self.assertEqual(job.process.returncode, 0)
        by_rank = collections.defaultdict(list)
        for line in output.decode("ascii").splitlines(True):
            match = re.fullmatch(rf"\[(\d)@{HOST}\] (.*\n)", line)
            self.assertTrue(match, line)
            by_rank[int(match[1])].append(match[2])
        for rank in range(ranks):
            seed = 3 + rank
            expected = [f"{seed} {i} " + "".join(chr(33 + (seed * i + j) % 90) for j in
                        range((seed * 37 + i * 101) % 301)) + "\n" for i in range(lines)]
            self.assertTrue(by_rank[rank] == expected, f"rank {rank} differs")

    def test_lines_of_both_streams_do_not_cut_each_other(self):
        script = "i=0; while [ $i -lt 2000 ]; do echo out$i; echo err$i >&2; i=$((i+1)); done"
        read_end, write_end = os.pipe()
        with Job("-n", 3, "sh", "-c", script, stdout=write_end, stderr=write_end) as job:
            os.close(write_end)
            with os.fdopen(read_end, "rb") as stream:
                lines = stream.read().decode().splitlines()
            self.assertEqual(job.process.wait(20), 0)
        self.assertEqual(len(lines), 3 * 2 * 2000)
        pattern = re.compile(rf"\[[012]@{HOST}\] (out|err)\d+")
        self.assertEqual([line for line in lines if not pattern.fullmatch(line)], [])

    def test_a_line_longer_than_the_limit_is_cut(self):
        _, output, _ = self.run_job("-n", 2, sys.executable, "-c", "print('x' * 200_000)")
        for rank in (0, 1):
            tag = f"[{rank}@{HOST}] "
            parts = [line[len(tag):] for line in output.splitlines() if line.startswith(tag)]
            self.assertEqual("".join(parts), "x" * 200_000)

    def test_a_terminal_shows_transient_lines(self):
        head, terminal = pty.openpty()
        script = r"printf '10%%\r20%%\r'; read go; printf half; echo $PACELINE_TERMINAL >&2"
        with Job("-n", 1, "--tag-output", "sh", "-c", script, stdin=subprocess.PIPE,
                 stdout=terminal) as job:
            os.close(terminal)
            seen = b""
            try:
                while chunk := os.read(head, 4096):
                    seen += chunk
                    if seen.endswith(b"20%"):
                        job.process.stdin.write(b"\n")
                        job.process.stdin.flush()
            except OSError:  # how a terminal says that nobody holds its other side
                pass
            os.close(head)
            self.assertEqual(job.process.wait(20), 0)
            self.assertEqual(job.process.stderr.read().decode(), f"[0@{HOST}] 1\n")
        tag = f"[0@{HOST}] "
        self.assertEqual(seen.decode(), f"{tag}20%\r\033[K{tag}half\033[7m%\033[0m\r\n")


if __name__ == "__main__":
    unittest.main()
