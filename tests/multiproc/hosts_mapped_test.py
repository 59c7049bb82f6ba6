"""The number of ranks on each host, by a mapping over all named hosts."""

import collections
import os
import unittest

from launched import Job, LauncherTest, host_options, read, until

SAY = "echo $TEST_HOST $RANK"


class HostsMapped(LauncherTest):
    def ranks_on(self, hosts, *options):
        """The ranks of each host, in ascending order."""
        code, output, error = self.run_job(*host_options(self, hosts), "--no-tag-output", *options,
                                           "sh", "-c", SAY)
        self.assertEqual(code, 0, error)
        found = collections.defaultdict(list)
        for host, rank in sorted(map(str.split, output.splitlines()), key=lambda line: line[1]):
            found[host].append(int(rank))
        return dict(found)

    def test_by_node_goes_over_all_hosts(self):
        self.assertEqual(self.ranks_on("h2:100,h3:100", "-n", 4, "--map-by", "node"),
                         {"h2": [0, 2], "h3": [1, 3]})
        self.assertEqual(self.ranks_on("h2:2,h3:2,h4:2,h5:2", "-n", 4, "--map-by", "node"),
                         {"h2": [0], "h3": [1], "h4": [2], "h5": [3]})
        self.assertEqual(self.ranks_on("h2:2,h3:2,h4:2", "-n", 2, "--map-by", "node"),
                         {"h2": [0], "h3": [1]})

    def test_so_many_per_node(self):
        self.assertEqual(self.ranks_on("h2:2,h3:2,h4:2", "-n", 3, "--map-by", "ppr:1:node"),
                         {"h2": [0], "h3": [1], "h4": [2]})

    def test_by_slot_fills_hosts(self):
        self.assertEqual(self.ranks_on("h2:2,h3:2,h4:2", "-n", 3, "--map-by", "slot"),
                         {"h2": [0, 1], "h3": [2]})

    def test_no_room_is_said_before_an_agent_starts(self):
        code, _, error = self.run_job("--launch-agent", "/no/such/program", "-H", "h2:2,h3:2",
                                      "-n", 3, "--map-by", "ppr:1:node", "true")
        self.assertEqual(code, 125)
        self.assertEqual(error, "paceline: the job has 3 ranks, but with 1 per node the slots of "
                                "its hosts have room for 2\n")

    def test_without_a_number_the_slots_decide(self):
        self.assertEqual(self.ranks_on("h2:2,h3:1"), {"h2": [0, 1], "h3": [2]})
        self.assertEqual(self.ranks_on("h2:2,h3:2", "-N", 1), {"h2": [0], "h3": [1]})
        self.assertEqual(self.ranks_on("h2:2,h3:2", "--map-by", "ppr:1:node"),
                         {"h2": [0], "h3": [1]})
        self.assertEqual(self.ranks_on("h2,h3"), {"h2": [0], "h3": [1]})

    def test_several_programs_are_mapped_together(self):
        self.assertEqual(self.ranks_on("h2:2,h3:2,h4:2", "--map-by", "node", "-n", 1, "sh", "-c",
                                       SAY, ":", "-n", 2),
                         {"h2": [0], "h3": [1], "h4": [2]})

    def test_programs_have_their_own_hosts(self):
        self.assertEqual(self.ranks_on("h2", "sh", "-c", SAY, ":", "-H", "h3:1,h4:2"),
                         {"h2": [0], "h3": [1], "h4": [2, 3]})
        self.assertEqual(self.ranks_on("h2:4", "-n", 1, "sh", "-c", SAY, ":", "-n", 2, "-H", "h3:4",
                                       "sh", "-c", SAY, ":", "-n", 1),
                         {"h2": [0, 3], "h3": [1, 2]})

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "ranks need a CPU each")
    def test_a_host_that_the_machines_leave_without_ranks_is_released(self):
        script = f"{SAY}; [ $RANK = 1 ] || read line"  # rank 1 has no input
        with Job(*host_options(self, "h2:2,h3:2"), "-n", 2, "--map-by", "ppr:1:hwthread",
                 "--no-tag-output", "sh", "-c", script, stdin=-1) as job:
            lines = sorted(job.process.stdout.readline() for _ in range(2))
            self.assertEqual(lines, [b"h2 0\n", b"h2 1\n"])

            def is_released():
                return not any(b"TEST_HOST=h3" in read(f"/proc/{pid}/environ").split(b"\0")
                               for pid in job.alive())

            self.assertTrue(until(is_released), "the agent of h3 is still there")
            self.assertIsNone(job.process.poll())
            job.process.stdin.close()
            job.process.stdin = None
            self.assertIn(job.wait()[0], (0, 1))  # `read` gets the end of its input


if __name__ == "__main__":
    unittest.main()
