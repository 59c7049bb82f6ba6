"""Faults of links in fault scripts: packets of one host to another are late or lost, and afterwards
nothing remains in the network of the host. Runs in a lab of `paceline lab`."""

import pathlib
import re
import sys
import unittest

from launched import BIN

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from support import lab_job  # noqa: E402
from support.lab import Lab, may_be_made  # noqa: E402
from support.surroundings import Unavailable  # noqa: E402

RANK = (sys.executable, pathlib.Path(__file__).resolve().parents[1] / "support/link_rank.py")
STEADY = (BIN / "multiproc_steady_rank", 1000, 10_000_000)
SENT = 2000  # datagrams
NORMAL_S = 0.01  # longest round trip without a fault, even on a busy machine


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

    def run_script(self, line, *command, options=("--engine", "lab")):
        script = self.lab.folder / "faults"
        script.write_text(f"{line}\n", encoding="utf-8")
        return lab_job.run(self.lab, *command, options=[*options, "--faults", script])

    def network_of(self, host):
        """The devices and tables of nf_tables of a host."""
        devices = self.lab.do("exec", host, "--", "ip", "-br", "link")
        tables = self.lab.do("exec", host, "--", "nft", "list", "tables")
        return [line.split()[0] for line in devices.splitlines()], tables

    def assert_clean(self):
        for host in ("h1", "h2"):
            devices, tables = self.network_of(host)
            self.assertEqual([name for name in devices if name.startswith("paceline")], [])
            self.assertEqual(tables, "")

    def round_trips(self, line, seconds):
        job = self.run_script(line, *RANK, "tcp", seconds)
        self.assertEqual(job.code, 0, job.errors)
        self.assertEqual(job.errors.count(": now\n"), 2 if "between" in line else 1)
        self.assert_clean()
        return [tuple(map(float, pair)) for pair in re.findall(r"(\d\S+) (\d\S+)\n", job.output)]

    def test_packets_are_late_in_one_direction_and_in_both(self):
        for between, late_s in (("from host h2 to h1", 0.02), ("from host h1 to h2", 0.02),
                                ("between hosts h1 and h2", 0.04)):
            with self.subTest(between):
                trips = self.round_trips(f"after 1s: delay 20ms {between} for 2s", 4)
                late = [trip for trip in trips if trip[1] >= late_s]
                self.assertGreater(len(late), 20)
                self.assertLess(min(trip[1] for trip in late), late_s + NORMAL_S)
                for others in ([trip for trip in trips if trip[0] < late[0][0]],
                               [trip for trip in trips if trip[0] > late[-1][0]]):
                    self.assertLess(min(trip[1] for trip in others), NORMAL_S)

    def test_a_cut_lasts_for_its_time(self):
        trips = self.round_trips("after 1s: drop 100% from host h2 to h1 for 1s", 4)
        self.assertGreater(max(trip[1] for trip in trips), 0.9)
        self.assertLess(trips[0][1], NORMAL_S)
        self.assertLess(trips[-1][1], NORMAL_S)

    def datagrams(self, line):
        """How many arrived, and how many came back."""
        job = self.run_script(line, *RANK, "udp", SENT)
        self.assertEqual(job.code, 0, job.errors)
        self.assert_clean()
        return (int(re.search(word + r" (\d+)", job.output)[1]) for word in ("arrived", "returned"))

    def test_a_share_of_the_packets_is_lost_in_one_direction(self):
        arrived, returned = self.datagrams("after 0.1s: drop 10% from host h2 to h1")
        self.assertAlmostEqual(arrived, 0.9 * SENT, delta=0.04 * SENT)
        self.assertEqual(returned, arrived)
        arrived, returned = self.datagrams("after 0.1s: drop 100% from host h1 to h2 for 9s")
        self.assertEqual((arrived, returned), (SENT, 0))

    def test_a_killed_host_leaves_nothing(self):
        job = self.run_script("after 0.2s: delay 5ms from host h2 to h1\nafter 1s: kill host h2",
                              *STEADY)
        self.assertNotEqual(job.code, 0)
        self.assertEqual(job.errors.count(": now\n"), 2, job.errors)
        self.assert_clean()

    def test_without_the_right_to_do_it_the_job_goes_on(self):
        options = lab_job.agents_with(self.lab.folder, "h2", "setpriv",
                                      "--bounding-set=-net_admin")
        job = self.run_script("after 0.1s: drop 100% from host h2 to h1", "sleep", 1,
                              options=options)
        self.assertEqual(job.code, 0, job.errors)
        self.assertRegex(job.errors, r"h2: fault, line 1: .*: not possible: .*not permitted")


if __name__ == "__main__":
    unittest.main()
