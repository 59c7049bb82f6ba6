"""Restarts after a host is lost: its ranks go to the other hosts of the job."""

import concurrent.futures
import os
import pathlib
import re
import signal
import tempfile
import unittest

from launched import Job, LauncherTest, fault_script, host_options, until

# A rank of the first start waits; one of a restart ends well.
RANK = ('echo "rank $RANK start $TORCHELASTIC_RESTART_COUNT on ${TEST_HOST:-here}"; '
        '[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] || exit 0; exec sleep 1000')


HERE = os.uname().nodename
KILLS_B = "after 0.7s: kill host b\n"


class LostHosts(LauncherTest):
    def test_jobs(self):
        """Each waits for more than 10 s, so several run at a time."""
        jobs = [name for name in dir(self) if name.startswith("job_")]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for name, job in [(name, pool.submit(getattr(self, name))) for name in jobs]:
                with self.subTest(name):
                    job.result()

    def launch_with(self, folder, line):
        """Options of agents that a script starts, which has `line` in it."""
        host_options(self, "a")  # skips the test if there are no remote agents
        launch = pathlib.Path(folder) / "launch"
        launch.write_text(f'#!/bin/sh\nhost=$1; shift; {line}\n'
                          'exec env TEST_HOST="$host" "$@"\n')
        launch.chmod(0o755)
        return "--launch-agent", f"{launch} {{host}}"

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

    def job_a_spare_host_gets_the_ranks(self):
        code, output, error = self.lose("a:2,b:2,c:2", 4, "b")
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 0), ["a", "a", "b", "b"])
        self.assertEqual(self.starts(output, 1), ["a", "a", "c", "c"])
        self.assertRegex(error, r"host b: the agent is gone.*; it and ranks 2 to 3 were killed; "
                                r"ending 2 ranks; restart 1 of 3 in \S+ s\n")
        self.assertRegex(error, r"the ranks go to hosts a, c; set aside: host b \(the "
                                r"agent is gone.*\)\n")

    def job_the_first_host_is_lost(self):
        code, output, error = self.lose("a:1,b:1,c:1", 2, "a")
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 1), ["b", "c"])

    def job_one_host_after_another(self):
        rank = RANK.replace("= 0", "-lt 2")
        code, output, error = self.lose("a:1,b:1,c:1,d:1", 2, "ba", rank=rank)
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 1), ["a", "c"])
        self.assertEqual(self.starts(output, 2), ["c", "d"])

    def job_other_ranks_of_the_job_take_a_host_more(self):
        code, output, error = self.lose("a:2,b:2", 2, "b", "--map-by", "node")
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 0), ["a", "b"])
        self.assertEqual(self.starts(output, 1), ["a", "a"])

    def job_without_a_host_the_job_ends(self):
        code, output, error = self.lose("a:1,b:1", 2, "b")
        self.assertEqual(code, 125)
        self.assertEqual(self.starts(output, 1), [])
        self.assertRegex(error, r"no restart: the job has 2 ranks, but its hosts have 1 slot; .*; "
                                r"set aside: host b \(the agent is gone.*\)\n")

    def job_a_spare_host_that_does_not_start_is_set_aside_too(self):
        with tempfile.TemporaryDirectory() as folder, fault_script(KILLS_B) as script, \
                Job("--faults", script, *self.launch_with(folder, '[ "$host" != c ] || exit 7'),
                    "-H", "a:1,b:1,c:1,d:1", "-n", 2, "--max-restarts", 1, "sh", "-c",
                    RANK) as job:
            code, output, error = job.wait()
            self.assert_gone(job)
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 1), ["a", "d"])
        self.assertIn("host c: ", error)
        self.assertRegex(error, r"set aside: host b .*, host c .*\n")

    def job_the_host_of_the_launcher_is_spare(self):
        code, output, error = self.lose(f"a:1,b:1,{HERE}:1", 2, "b")
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 0), ["a", "b"])
        self.assertEqual(self.starts(output, 1), ["a", "here"])

    def job_the_host_of_the_launcher_is_lost(self):
        code, output, error = self.lose(f"{HERE}:1,b:1,c:1", 2, [HERE])
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 0), ["here", "b"])
        self.assertEqual(self.starts(output, 1), ["b", "c"])

    def job_a_host_comes_back_after_its_cool_down(self):
        rank = RANK.replace("= 0", "-lt 2")
        code, output, error = self.lose("a:1,b:1,c:1", 2, "bc", "--cool-down", 1, rank=rank)
        self.assertEqual(code, 0, error)
        self.assertEqual(self.starts(output, 1), ["a", "c"])
        self.assertEqual(self.starts(output, 2), ["a", "b"])

    def job_if_most_hosts_are_lost_the_job_ends(self):
        # Ranks that ignore SIGTERM: on a busy machine the agents' times differ, and the faults of
        # an agent end with its ranks.
        lines = "".join(f"after 0.7s: kill host {host}\n" for host in "bcd")
        with fault_script(lines) as script, \
                Job("--faults", script, *host_options(self, "a:9,b:1,c:1,d:1"), "-n", 4,
                    "--map-by", "node", "--max-restarts", 1, "sh", "-c",
                    'trap "" TERM; ' + RANK) as job:
            code, output, error = job.wait()
            self.assert_gone(job)
        self.assertEqual(code, 125, error)
        self.assertEqual(self.starts(output, 1), [])
        self.assertIn("no restart: 3 of 4 hosts are lost, so it may be this host that is cut off",
                      error)

    def ended_while_hosts_are_sought(self, *words, end=lambda job: None):
        """The exit code of a job whose spare host takes forever to start."""
        with tempfile.TemporaryDirectory() as folder, fault_script(KILLS_B) as script, \
                Job("--faults", script,
                    *self.launch_with(folder, '[ "$host" != c ] || { '
                                              'touch "$0.sought"; exec sleep 1000; }'),
                    "-H", "a:1,b:1,c:1", "-n", 2, "--max-restarts", 1, *words, "sh", "-c",
                    RANK) as job:
            until(pathlib.Path(folder, "launch.sought").exists, 40)
            end(job)
            code, output, error = job.wait()
            self.assert_gone(job)
        self.assertEqual(self.starts(output, 1), [], error)
        return code

    def job_a_signal_ends_the_search(self):
        code = self.ended_while_hosts_are_sought(
            end=lambda job: job.process.send_signal(signal.SIGTERM))
        self.assertEqual(code, 128 + signal.SIGTERM)

    def job_the_timeout_ends_the_search(self):
        self.assertEqual(self.ended_while_hosts_are_sought("--timeout", 25), 124)

    def job_a_signal_ends_the_wait(self):
        with fault_script(KILLS_B) as script, \
                Job("--faults", script, *host_options(self, "a:1,b:1,c:1"), "-n", 2,
                    "--max-restarts", 1, "sh", "-c", RANK) as job:
            seen = b""
            while b"restart 1 of 1" not in seen:
                line = job.process.stderr.readline()
                self.assertTrue(line, seen)
                seen += line
            job.process.send_signal(signal.SIGTERM)
            code, output, _ = job.wait()
            self.assert_gone(job)
        self.assertEqual(code, 128 + signal.SIGTERM)
        self.assertEqual(self.starts(output, 1), [])


if __name__ == "__main__":
    unittest.main()
