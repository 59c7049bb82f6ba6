"""Faults of links in fault scripts: packets of one host to another are late or lost, and afterwards
nothing remains in the network of the host. Runs in a lab of `paceline lab`."""

import concurrent.futures
import pathlib
import re
import sys
import unittest

from launched import BIN

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from support import lab_job  # noqa: E402
from support.lab import Lab, may_be_made  # noqa: E402
from support.surroundings import Unavailable  # noqa: E402
from support.waits import until  # noqa: E402

RANK = (sys.executable, pathlib.Path(__file__).resolve().parents[1] / "support/link_rank.py")
STEADY = (BIN / "multiproc_steady_rank", 1000, 10_000_000)
SENT = 2000  # datagrams
FEW = 10  # datagrams that a busy machine may lose
NORMAL_S = 0.01  # shortest round trip of many, even on a busy machine


class LinkFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            may_be_made()
        except Unavailable as why:
            raise unittest.SkipTest(str(why)) from why
        cls.lab = Lab(hosts=2)
        cls.addClassCleanup(cls.lab.__exit__, None)
        cls.lab.name = "lab"  # in a folder of its own
        cls.lab.up()

    def run_script(self, lines, *command, options=("--engine", "lab"), name="faults", net=None):
        script = self.lab.folder / name
        script.write_text(f"{lines}\n", encoding="utf-8")
        return lab_job.run(self.lab, *command, options=[*options, "--faults", script],
                           variables={"PACELINE_NET": net} if net else None)

    def devices_of(self, host):
        """The devices of faults on a host."""
        devices = self.lab.do("exec", host, "--", "ip", "-br", "link")
        return [line for line in devices.splitlines() if line.startswith("paceline")]

    def assert_clean(self):
        for host in ("h1", "h2"):
            self.assertEqual(self.devices_of(host), [])
            self.assertEqual(self.lab.do("exec", host, "--", "nft", "list", "tables"), "")

    def round_trips(self, lines, seconds, net=None):
        """When each began, after rank 1 was ready, and how long it took."""
        job = self.run_script(lines, *RANK, "tcp", seconds, net=net)
        self.assertEqual(job.code, 0, job.errors)
        self.assertEqual(job.errors.count(": now\n"), lines.count(": ") + lines.count("between"))
        self.assert_clean()
        return self.trips_of(job)

    def trips_of(self, job):
        return [tuple(map(float, pair)) for pair in re.findall(r"(\d\S+) (\d\S+)\n", job.output)]

    def shortest(self, trips, begin_s, end_s):
        """The shortest round trip that began in this time."""
        within = [took for began, took in trips if begin_s < began < end_s]
        self.assertGreater(len(within), 0, f"no round trip from {begin_s} s to {end_s} s: {trips}")
        return min(within)

    def test_packets_are_late_in_one_direction_and_in_both(self):
        line = "after 1.5s: delay 20ms {} for 2s"
        for lines, late_s in ((line.format("from host h2 to h1"), 0.02),
                              (line.format("from host h1 to h2"), 0.02),
                              (line.format("between hosts h1 and h2"), 0.04),
                              ("\n".join([line.format("from host h2 to h1")] * 2), 0.04)):
            with self.subTest(lines):
                self.assert_late(self.round_trips(lines, 4.2), late_s)

    def assert_late(self, trips, late_s):
        # Times of the script are up to a second earlier, since the rank has started then.
        self.assertLess(self.shortest(trips, 0, 0.5), NORMAL_S)
        late = self.shortest(trips, 1.6, 2.4)
        self.assertGreaterEqual(late, late_s)
        self.assertLess(late, late_s + NORMAL_S)
        self.assertLess(self.shortest(trips, 3.6, 9), NORMAL_S)

    def set_ipv6(self, disable, change):
        """A lab has no IPv6 by default."""
        for number, device in (("1", "eth0"), ("2", "eth0"), ("254", "br0")):
            host = "switch" if device == "br0" else f"h{number}"
            self.lab.do("exec", host, "--", "sh", "-ec",
                        f"echo {disable} > /proc/sys/net/ipv6/conf/{device}/disable_ipv6\n"
                        f"{change.format(address=f'fd77::{number}/64', device=device)}")

    @unittest.skipUnless(pathlib.Path("/proc/sys/net/ipv6").exists(), "the kernel has no IPv6")
    def test_packets_of_ipv6_are_late(self):
        self.addCleanup(self.set_ipv6, 1, ":")
        self.set_ipv6(0, "ip -6 addr add {address} dev {device} nodad")
        trips = self.round_trips("after 1.5s: delay 20ms between hosts h1 and h2 for 2s", 4.2,
                                 net="fd77::/64")
        self.assert_late(trips, 0.04)

    def test_a_cut_lasts_for_its_time(self):
        trips = self.round_trips("after 1.5s: drop 100% from host h2 to h1 for 1s", 5)
        self.assertGreater(max(trip[1] for trip in trips), 0.9)
        self.assertLess(self.shortest(trips, 0, 0.5), NORMAL_S)
        self.assertLess(self.shortest(trips, 3.5, 9), NORMAL_S)

    def test_faults_of_two_jobs_add_up(self):
        with concurrent.futures.ThreadPoolExecutor(1) as other:
            fault = "after 0.1s: delay 20ms from host h2 to h1"
            running = other.submit(self.run_script, fault, "sleep", 4, name="others")
            late = self.run_script("after 1s: delay 20ms from host h2 to h1 for 9s", *RANK, "tcp",
                                   2.5)
            self.assertEqual(running.result().code, 0, running.result().errors)
        self.assertEqual(late.code, 0, late.errors)
        shortest = self.shortest(self.trips_of(late), 1.2, 9)
        self.assertGreaterEqual(shortest, 0.04)
        self.assertLess(shortest, 0.04 + NORMAL_S)
        self.assert_clean()

    def test_a_restart_has_only_its_own_faults(self):
        lines = "after 0.1s: delay 20ms between hosts h1 and h2\nafter 1s: kill rank 1"
        script = '[ $TORCHELASTIC_RESTART_COUNT = 1 ] || exec sleep 100; exec "$@"'
        job = self.run_script(lines, "sh", "-c", script, "sh", *RANK, "tcp", 1,
                              options=("--engine", "lab", "--max-restarts", 1, "--restart-delay",
                                       0.1, "--grace", 1))
        self.assertEqual(job.code, 0, job.errors)
        self.assertLess(self.shortest(self.trips_of(job), 0, 9), NORMAL_S)
        self.assert_clean()

    def datagrams(self, line):
        """How many arrived, how many of them after a later one, and how many came back."""
        job = self.run_script(line, *RANK, "udp", SENT)
        self.assertEqual(job.code, 0, job.errors)
        self.assert_clean()
        return (int(re.search(word + r" (\d+)", job.output)[1])
                for word in ("arrived", "overtaken", "returned"))

    def test_a_share_of_the_packets_is_lost_in_one_direction(self):
        arrived, _, returned = self.datagrams("after 0.1s: drop 10% from host h2 to h1")
        self.assertAlmostEqual(arrived, 0.9 * SENT, delta=0.04 * SENT)
        self.assertAlmostEqual(returned, arrived, delta=FEW)
        arrived, _, returned = self.datagrams("after 0.1s: drop 100% from host h1 to h2 for 9s")
        self.assertAlmostEqual(arrived, SENT, delta=FEW)
        self.assertEqual(returned, 0)

    def test_packets_that_wait_at_the_end_of_a_fault_arrive(self):
        arrived, overtaken, returned = self.datagrams(
            "after 0.1s: delay 200ms from host h2 to h1 for 1.8s")
        self.assertAlmostEqual(arrived, SENT, delta=FEW)
        # The kernel delivers a burst on several CPUs.
        self.assertLess(overtaken, 0.05 * SENT)
        self.assertAlmostEqual(returned, arrived, delta=FEW)

    def test_a_killed_host_leaves_nothing(self):
        job = self.run_script("after 0.2s: delay 5ms from host h2 to h1\nafter 1s: kill host h2",
                              *STEADY)
        self.assertNotEqual(job.code, 0)
        self.assertEqual(job.errors.count(": now\n"), 2, job.errors)
        self.assert_clean()

    def test_a_stopped_host_ends_its_faults(self):
        lines = "after 0.2s: drop 100% from host h2 to h1\nafter 1.5s: stop host h2"
        with concurrent.futures.ThreadPoolExecutor(1) as other:
            running = other.submit(self.run_script, lines, "sleep", 100, options=(
                "--engine", "lab", "--max-silence", 5, "--grace", 1))
            until(lambda: self.devices_of("h2"), "the fault")
            until(lambda: not self.devices_of("h2"), "the end of the fault", 4)
            job = running.result()
        self.assertNotEqual(job.code, 0)
        self.assertRegex(job.errors, "host h2: .*has not answered")

    def test_without_the_right_to_do_it_the_job_goes_on(self):
        options = lab_job.agents_with(self.lab.folder, "h2", "setpriv",
                                      "--bounding-set=-net_admin")
        job = self.run_script("after 0.1s: drop 100% from host h2 to h1", "sleep", 1,
                              options=options)
        self.assertEqual(job.code, 0, job.errors)
        self.assertRegex(job.errors, r"h2: fault, line 1: .*: not possible: .*not permitted")


if __name__ == "__main__":
    unittest.main()
