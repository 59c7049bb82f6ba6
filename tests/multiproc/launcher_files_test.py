"""--output-dir: a file for each stream of each rank, byte for byte, and no other job's output."""

import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest

from launched import DEADLINE_S, HOST, PACELINE, Job, LauncherTest, Mark, until

# Runs in its own mount namespace. The file system of the output files is frozen for longer than the
# max silence of an agent. One job runs during that time, and another one starts.
FROZEN = """
truncate -s 32M image && mkfs.ext4 -q image && mkdir m && mount -o loop image m || exit 77
job() { "$0" run -n 1 --console-ranks none --output-dir m/$1 sh -c "$2" 2>$1.errors; echo $? >$1; }
job early 'until [ -e end ]; do echo x; sleep 0.1; done' &
until [ -s m/early/rank.0/stdout ]; do sleep 0.1; done
trap 'fsfreeze -u m' EXIT
fsfreeze -f m || exit 77
job late 'echo x' &
sleep 13
fsfreeze -u m
trap - EXIT
touch end
wait
cat m/late/rank.0/stdout
umount m
"""
BOTH_STREAMS = r"printf 'a\r\0b\rhalf %s' $RANK; printf 'e %s\n' $RANK >&2"


class Files(LauncherTest):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.out = self.folder / "of" / "runs"

    def kept(self, rank, stream="stdout"):
        return (self.out / f"rank.{rank}" / stream).read_bytes()

    def test_every_byte_streams_apart(self):
        code, output, _ = self.run_job("-n", 11, "--output-dir", "of/runs", "--console-ranks", "3",
                                       "sh", "-c", BOTH_STREAMS, cwd=self.folder)
        self.assertEqual((code, output), (0, f"[3@{HOST}]% half 3\n"))
        self.assertEqual(sorted(entry.name for entry in self.out.iterdir()),
                         [f"rank.{rank:02}" for rank in range(11)])
        for rank in range(11):
            self.assertEqual(self.kept(f"{rank:02}"), b"a\r\0b\rhalf %d" % rank)
            self.assertEqual(self.kept(f"{rank:02}", "stderr"), b"e %d\n" % rank)

    @unittest.skipIf(os.geteuid() != 0, "only root may mount a file system")
    def test_a_file_system_that_hangs_for_a_while_ends_no_job(self):
        mark = Mark()
        self.addCleanup(mark.kill)
        done = subprocess.run(["unshare", "-m", "sh", "-c", FROZEN, PACELINE], cwd=self.folder,
                              env={**os.environ, **mark.variables()}, capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, timeout=90, check=False)
        if done.returncode == 77:
            self.skipTest(f"no file system can be mounted and frozen: {done.stderr.strip()}")
        self.assertEqual((done.returncode, done.stdout), (0, "x\n"), done.stderr)
        for job in ("early", "late"):
            self.assertEqual((self.folder / job).read_text(), "0\n")
            self.assertEqual((self.folder / f"{job}.errors").read_text(), "")

    def test_a_console_that_shows_nobody(self):
        data = 3_000_000
        script = f"import sys; sys.stdout.write({data} * 'x')"
        with Job("-n", 2, "--output-dir", self.out, "--console-ranks", "none", sys.executable, "-c",
                 script) as job:
            self.assertEqual(job.process.wait(20), 0, "nobody reads the console, nobody has to")
            self.assertEqual(job.process.stdout.read(), b"")
        self.assertEqual([self.kept(rank) for rank in (0, 1)], 2 * [data * b"x"])

    def test_output_of_an_earlier_job_stays(self):
        self.assertEqual(self.run_job("-n", 2, "--output-dir", self.out, "echo", "first")[0], 0)
        for ranks in (2, 3, 20):
            code, output, error = self.run_job("-n", ranks, "--output-dir", self.out, "touch",
                                               self.folder / "ran")
            self.assertEqual((code, output), (125, ""))
            self.assertRegex(error, r"\Apaceline: .*'" + re.escape(str(self.out)) +
                             r"/rank\.[01]/stdout' is output of another job; .*%j.*\n\Z")
        self.assertFalse((self.folder / "ran").exists())
        self.assertEqual(self.kept(0), b"first\n")
        self.assertEqual(len(list(self.out.iterdir())), 2)

    def test_of_two_jobs_at_once_one_starts(self):
        for sizes in ((4, 4), (4, 20)):
            out = self.folder / str(sizes[1])
            with Job("-n", sizes[0], "--output-dir", out, "echo", "one") as one, \
                    Job("-n", sizes[1], "--output-dir", out, "echo", "other") as other:
                results = [job.wait() for job in (one, other)]
            self.assertEqual(sorted(result[0] for result in results), [0, 125], results)
            self.assertEqual([bool(result[1]) for result in results],
                             [result[0] == 0 for result in results])
            self.assertIn(len(list(out.iterdir())), sizes)

    def test_a_directory_that_cannot_be_made(self):
        (self.folder / "of").write_text("a file")
        code, output, error = self.run_job("-n", 2, "--output-dir", self.out, "echo", "a")
        self.assertEqual((code, output), (125, ""))
        self.assertIn(f"cannot make the directory '{self.out}': Not a directory", error)

    def agent(self, job):
        """The process that holds the files."""
        path = str(self.out / "rank.0" / "stdout")

        def holds(pid):
            try:
                return any(os.readlink(fd) == path
                           for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir())
            except FileNotFoundError:
                return False  # it has closed something, or gone, meanwhile

        def holders():
            return [pid for pid in job.alive() if holds(pid)]
        return until(holders)[0]

    # A limit of the size of the agent's files stands for the full disk.
    def test_a_full_disk_holds_up_the_job_and_loses_nothing(self):
        script = ("import sys; print('begun', file=sys.stderr, flush=True); "
                  "sys.stdin.read(1); sys.stdout.write(300_000 * 'x' + '\\n'); "
                  "print('done', file=sys.stderr)")
        with Job("-n", 1, "--output-dir", self.out, "--tag-output", sys.executable, "-c", script,
                 stdin=-1) as job:
            # A rank that runs has all the files that the agent makes for it beforehand.
            self.assertTrue(job.process.stderr.readline().endswith(b"begun\n"))
            agent = self.agent(job)
            limits = resource.prlimit(agent, resource.RLIMIT_FSIZE, (1000, -1))
            job.process.stdin.write(b"1")
            job.process.stdin.flush()
            notice = job.process.stderr.readline().decode()
            self.assertRegex(notice, rf"paceline: host {HOST}: cannot write '{self.out}/rank\.0/"
                             "stdout': File too large; .*repeated every second.* 300 s")
            self.assertEqual(len(self.kept(0)), 1000)
            resource.prlimit(agent, resource.RLIMIT_FSIZE, limits)
            code, _, error = job.wait()
        self.assertEqual(code, 0)
        self.assertIn(f"paceline: host {HOST}: the files of the output directory can be written "
                      "again", error)
        self.assertEqual(self.kept(0), 300_000 * b"x" + b"\n")
        self.assertEqual(self.kept(0, "stderr"), b"begun\ndone\n")

    def test_a_full_disk_does_not_hold_up_a_timeout_for_the_grace(self):
        with Job("-n", 1, "--output-dir", self.out, "--tag-output", "--timeout", 3, "--grace",
                 2 * DEADLINE_S, "sh", "-c", "echo begun >&2; read line; exec yes",
                 stdin=-1) as job:
            self.assertTrue(job.process.stderr.readline().endswith(b"begun\n"))
            resource.prlimit(self.agent(job), resource.RLIMIT_FSIZE, (1000, -1))
            job.process.stdin.write(b"\n")
            job.process.stdin.flush()
            code, _, error = job.wait()
        self.assertEqual(code, 124)
        self.assertIn("not all output could be written in time", error)


if __name__ == "__main__":
    unittest.main()
