"""Restarts after a host is lost: its ranks go to the other hosts of the job."""

import pathlib
import re
import signal
import tempfile
import unittest

from launched import Job, LauncherTest, fault_script, host_options

# A rank of the first start waits; one of a restart ends well.
RANK = ('echo "rank $RANK start $TORCHELASTIC_RESTART_COUNT on $TEST_HOST"; '
        '[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] || exit 0; exec sleep 1000')


class LostHosts(LauncherTest):
    def lose(self, hosts, ranks, lost, *words, rank=RANK):
        """The result of a job that loses one host after another. Their processes are killed once
        all ranks of a start have begun."""
        lines = "".join((f"in restart {restart}, " if restart else "") +
                        f"after 0.7s: kill host {host}\n" for restart, host in enumerate(lost))
        with fault_script(lines) as script, \
                Job("--faults", script, *host_options(self, hosts), "-n", ranks,
                    "--max-restarts", 3, *words, "sh", "-c", rank) as job:
            result = job.wait()
            self.assert_gone(job)
        return result

    def starts(self, output, restart):
        """The hosts of the ranks, by rank."""
        found = re.findall(rf"rank (\d+) start {restart} on (\w+)", output)
        return [host for _, host in sorted(found)]

    def test_a_spare_host_gets_the_ranks(self):
        code, output, error = self.lose("a:2,b:2,c:2", 4, "b")
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 0), ["a", "a", "b", "b"])
        self.assertEqual(self.starts(output, 1), ["a", "a", "c", "c"])
        self.assertRegex(error, r"host b: the agent is gone.*; it and ranks 2 to 3 were killed; "
                                r"ending 2 ranks; restart 1 of 3 in \S+ s\n")
        self.assertRegex(error, r"the ranks go to hosts a, c; set aside: host b \(the "
                                r"agent is gone.*\)\n")

    def test_the_first_host_is_lost(self):
        code, output, error = self.lose("a:1,b:1,c:1", 2, "a")
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 1), ["b", "c"])

    def test_one_host_after_another(self):
        rank = RANK.replace("= 0", "-lt 2")
        code, output, error = self.lose("a:1,b:1,c:1,d:1", 2, "ba", rank=rank)
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 1), ["a", "c"])
        self.assertEqual(self.starts(output, 2), ["c", "d"])

    def test_other_ranks_of_the_job_take_a_host_more(self):
        code, output, error = self.lose("a:2,b:2", 2, "b", "--map-by", "node")
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 0), ["a", "b"])
        self.assertEqual(self.starts(output, 1), ["a", "a"])

    def test_without_a_host_the_job_ends(self):
        code, output, error = self.lose("a:1,b:1", 2, "b")
        self.assertEqual(code, 125)
        self.assertEqual(self.starts(output, 1), [])
        self.assertRegex(error, r"no restart: the job has 2 ranks, but its hosts have 1 slot; .*; "
                                r"set aside: host b \(the agent is gone.*\)\n")

    def test_a_spare_host_that_does_not_start_is_set_aside_too(self):
        with tempfile.TemporaryDirectory() as folder:
            launch = pathlib.Path(folder) / "launch"
            launch.write_text('#!/bin/sh\nhost=$1; shift; [ "$host" != c ] || exit 7\n'
                              'exec env TEST_HOST="$host" "$@"\n')
            launch.chmod(0o755)
            with fault_script("after 0.7s: kill host b\n") as script, \
                    Job("--faults", script, "--launch-agent", f"{launch} {{host}}", "-H",
                        "a:1,b:1,c:1,d:1", "-n", 2, "--max-restarts", 1, "sh", "-c", RANK) as job:
                code, output, error = job.wait()
                self.assert_gone(job)
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 1), ["a", "d"])
        self.assertIn("host c: ", error)
        self.assertRegex(error, r"set aside: host b .*, host c .*\n")

    def test_a_signal_ends_the_wait(self):
        with fault_script("after 0.5s: kill host b\n") as script, \
                Job("--faults", script, *host_options(self, "a:1,b:1,c:1"), "-n", 2,
                    "--max-restarts", 1, "sh", "-c", RANK) as job:
            seen = b""
            while b"restart 1 of 1" not in seen:
                seen += job.process.stderr.readline()
            job.process.send_signal(signal.SIGTERM)
            code, output, _ = job.wait()
            self.assert_gone(job)
        self.assertEqual(code, 128 + signal.SIGTERM)
        self.assertEqual(self.starts(output, 1), [])


if __name__ == "__main__":
    unittest.main()
