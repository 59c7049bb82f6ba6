"""Output of ranks arrives complete, tagged, and byte for byte."""

import collections
import hashlib
import os
import pty
import random
import re
import subprocess
import sys
import tempfile
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

    def test_tags_with_the_time(self):
        code, output, _ = self.run_job("-n", 2, "--timestamp-output", "echo", "a")
        self.assertEqual((code, len(output.splitlines())), (0, 2))
        for line in output.splitlines():
            self.assertRegex(line, rf"^\[[01]@{HOST} \d\d:\d\d:\d\d\.\d\d\d\] a$")

    def test_unfinished_lines_are_finished_and_marked(self):
        _, output, _ = self.run_job("-n", 2, "printf", "half")
        self.assertEqual(sorted(output.splitlines(True)),
                         [f"[0@{HOST}]% half\n", f"[1@{HOST}]% half\n"])
        self.assertEqual(self.run_job("-n", 2, "--no-tag-output", "printf", "half")[1],
                         "half\nhalf\n")
        self.assertEqual(self.run_job("-n", 1, "printf", "half")[1], "half")

    def test_only_the_last_of_overwritten_lines_shows(self):
        _, output, _ = self.run_job("-n", 2, "printf", r"10%%\r20%%\rdone\n30%%\r40%%\r")
        for rank in (0, 1):
            tag = f"[{rank}@{HOST}]"
            self.assertEqual([line for line in output.splitlines() if line.startswith(tag)],
                             [tag + " done", tag + "% 40%"])

    def test_the_last_words_of_a_killed_rank(self):
        code, output, _ = self.run_job(
            "-n", 2, "sh", "-c", "[ $RANK = 1 ] || exec sleep 1000; printf last; kill -9 $$")
        self.assertEqual((code, output), (137, f"[1@{HOST}]% last\n"))

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
        limit = 1 << 16
        script = f"import sys; print('x' * 200_000); print('y' * {limit})"
        _, output, _ = self.run_job("-n", 2, sys.executable, "-c", script)
        for rank in (0, 1):
            tag = f"[{rank}@{HOST}]"
            lines = [line[len(tag):] for line in output.splitlines() if line.startswith(tag)]
            self.assertEqual(lines, 3 * ["% " + "x" * limit] + [" " + "x" * (200_000 - 3 * limit),
                                                                " " + "y" * limit])

    def test_bytes_of_any_value(self):
        data = bytes(byte for byte in range(256) if byte != 13)
        script = f"import sys; sys.stdout.buffer.write({data!r})"
        with Job("-n", 2, sys.executable, "-c", script) as job:
            output, _ = job.process.communicate(timeout=20)
        for rank in (0, 1):
            tag = f"[{rank}@{HOST}]".encode()
            lines = [line[len(tag):] for line in output.split(b"\n") if line.startswith(tag)]
            self.assertEqual(lines, [b" " + data[:10], b"% " + data[11:]])

    def test_a_rank_may_close_its_streams(self):
        code, output, error = self.run_job(
            "-n", 2, "sh", "-c", "echo out; exec >&-; echo err >&2; exec 2>&-; exit 0")
        self.assertEqual((code, output.count("out\n"), error.count("err\n")), (0, 2, 2))

    def test_what_outlives_its_rank_is_shown_until_the_end_of_the_job(self):
        with tempfile.TemporaryDirectory() as folder:
            late = ("touch left; while kill -0 $1 2>/dev/null; do sleep 0.01; done; echo late; "
                    "touch said")
            wait = "until [ -e {} ]; do sleep 0.01; done"
            script = (f"if [ $RANK = 1 ]; then {wait.format('said')}; exit; fi; "
                      f"setsid sh -c '{late}' late $$ & {wait.format('left')}")
            code, output, _ = self.run_job("-n", 2, "sh", "-c", script, cwd=folder)
        self.assertEqual((code, output), (0, f"[0@{HOST}] late\n"))

    def test_nothing_runs_into_a_line_of_the_launcher(self):
        with Job("-n", 1, "sh", "-c", "printf half; exit 3", stderr=subprocess.STDOUT) as job:
            output, _ = job.process.communicate(timeout=20)
        self.assertRegex(output.decode(), r"\Ahalf\npaceline: rank 0 .*\n\Z")

    def test_a_reader_that_has_had_enough(self):
        for arguments in (("-n", 1), ("-n", 4)):
            with Job(*arguments, "yes") as job:
                self.assertTrue(job.process.stdout.readline().endswith(b"y\n"))
                job.process.stdout.close()
                self.assertEqual(job.process.wait(20), 128 + 13)
                self.assertEqual(job.process.stderr.read(), b"")
                self.assert_gone(job)

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
