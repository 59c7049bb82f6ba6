"""Signals to the agents. A resource manager that ends a job signals each process of it, in any
order. The ranks get their grace period, and the whole job ends."""

import os
import re
import signal
import time
import unittest

from launched import HOST, Job, LauncherTest, host_options, read, until

# When a signal asks it to end, it saves for 0.8 s and ignores further signals. Programs that it
# runs have the default signal handling.
SAVING = ("trap 'trap \"\" TERM INT HUP; sleep 0.8; echo saved $RANK; exit 0' TERM INT HUP; "
          "echo ready; while :; do sleep 0.02; done")
STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.02; done"


def takes_signals(pid):
    """Whether the agent already blocks SIGTERM, so that the signal does not end it. The runtime of
    the thread sanitizer blocks all signals for a moment before that, SIGWINCH too."""
    found = re.search(rb"^SigBlk:\s*(\w+)$", read(f"/proc/{pid}/status"), re.MULTILINE)
    blocked = int(found[1], 16) if found else 0
    return bool(blocked >> (signal.SIGTERM - 1) & 1) and not blocked >> (signal.SIGWINCH - 1) & 1


def agent_on(job, host):
    """The agent of a host, in a job with host_options(): a child of the head."""
    for pid in job.children(job.process.pid):
        if f"TEST_HOST={host}".encode() in read(f"/proc/{pid}/environ").split(b"\0"):
            return pid
    return None


class AgentSignals(LauncherTest):
    def ready(self, job, count=2):
        for _ in range(count):
            self.assertEqual(job.process.stdout.readline(), b"ready\n")

    def ended(self, job):
        """Exit code, output and errors. No process may remain."""
        result = job.wait()
        self.assertEqual(job.alive(), [], "processes are left")
        return result

    def assert_saved(self, output, ranks=2):
        self.assertEqual(sorted(output.split("\n")[:-1]), [f"saved {i}" for i in range(ranks)])

    def test_the_agent_alone(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number), \
                    Job("-n", 2, "--no-tag-output", "sh", "-c", SAVING) as job:
                self.ready(job)
                os.kill(job.agent(), number)
                code, output, error = self.ended(job)
                self.assert_saved(output)
                self.assertEqual([line for line in error.splitlines() if "paceline" in line],
                                 [f"paceline: host {HOST}: the agent received {number.name}; "
                                  "ending 2 ranks"])
                self.assertEqual(code, 0 if number == signal.SIGTERM else 128 + number)

    def test_ranks_that_do_not_save_end_the_job_with_143(self):
        with Job("-n", 2, "--no-tag-output", "sh", "-c", "echo ready; exec sleep 1000") as job:
            self.ready(job)
            os.kill(job.agent(), signal.SIGTERM)
            code, _, error = self.ended(job)
            self.assertEqual(code, 143)
            self.assertIn("the agent received SIGTERM", error)

    def test_every_process_at_once(self):
        for order in (sorted, lambda pids: sorted(pids, reverse=True)):
            with Job("-n", 2, "--no-tag-output", "sh", "-c", SAVING) as job:
                self.ready(job)
                for pid in order(job.alive()):
                    try:
                        os.kill(pid, signal.SIGTERM)
                    except ProcessLookupError:
                        pass  # a `sleep` of a rank
                code, output, error = self.ended(job)
                self.assert_saved(output)
                self.assertEqual(code, 0, error)
                self.assertNotIn("killed", error)

    def test_launcher_processes_one_after_the_other(self):
        names = ("agent", "helper", "head")
        for first in names:
            with self.subTest(first), Job("-n", 2, "--no-tag-output", "sh", "-c", SAVING) as job:
                self.ready(job)
                pids = {"agent": job.agent(), "helper": job.helper(), "head": job.process.pid}
                os.kill(pids[first], signal.SIGTERM)
                if first != "helper":
                    self.assertIn(b"SIGTERM", job.process.stderr.readline())
                for name in names:
                    if name != first:
                        os.kill(pids[name], signal.SIGTERM)
                code, output, error = self.ended(job)
                self.assert_saved(output)
                self.assertEqual(code, 0, error)

    def test_an_escalation_leaves_the_grace(self):
        """LSF ends a job by SIGINT, and some seconds later by SIGTERM."""
        saving = SAVING.replace("0.8", "2.5")
        for target in ("head", "agent"):
            with self.subTest(target), Job("-n", 2, "--no-tag-output", "--grace", 60, "sh", "-c",
                                           saving) as job:
                self.ready(job)
                pid = job.process.pid if target == "head" else job.agent()
                os.kill(pid, signal.SIGINT)
                time.sleep(1.3)  # longer than the time in which signals count as one request
                os.kill(pid, signal.SIGTERM)
                code, output, error = self.ended(job)
                self.assert_saved(output)
                self.assertEqual(code, 130, error)

    def test_an_interrupt_that_comes_twice_at_once_leaves_the_grace(self):
        """timeout(1) sends each signal twice."""
        with Job("-n", 2, "--no-tag-output", "--grace", 60, "sh", "-c", SAVING) as job:
            self.ready(job)
            os.kill(job.process.pid, signal.SIGINT)
            self.assertIn(b"SIGINT came", job.process.stderr.readline())
            os.kill(job.process.pid, signal.SIGINT)
            code, output, error = self.ended(job)
            self.assert_saved(output)
            self.assertEqual(code, 130, error)

    def test_ranks_that_ignore_it_are_killed_at_the_end_of_the_grace(self):
        with Job("-n", 2, "--no-tag-output", "--grace", 0.5, "sh", "-c", STUBBORN) as job:
            self.ready(job)
            begin = time.monotonic()
            os.kill(job.agent(), signal.SIGTERM)
            code, _, _ = self.ended(job)
            self.assertEqual(code, 143)
            self.assertGreaterEqual(time.monotonic() - begin, 0.5)

    def test_a_stopped_rank_goes_on_to_save(self):
        script = SAVING.replace("echo ready;", "echo ready; kill -STOP $$;")
        with Job("-n", 2, "--no-tag-output", "sh", "-c", script) as job:
            self.ready(job)
            os.kill(job.agent(), signal.SIGTERM)
            code, output, _ = self.ended(job)
            self.assert_saved(output)
            self.assertEqual(code, 0)

    def test_during_the_start(self):
        for stops_head in (False, True):
            with self.subTest(stops_head), Job("-n", 2, "sleep", 1000) as job:
                agent = until(lambda job=job: (job.children(job.process.pid) or [0])[0])
                if stops_head:  # so that the agent has no order to start ranks
                    os.kill(job.process.pid, signal.SIGSTOP)
                self.assertTrue(until(lambda: takes_signals(agent)))
                os.kill(agent, signal.SIGTERM)
                os.kill(job.process.pid, signal.SIGCONT)
                code, _, error = self.ended(job)
                self.assertEqual(code, 143, error)
                self.assertIn("the agent received SIGTERM", error)

    def test_a_warning_for_the_ranks_leaves_the_launcher_alone(self):
        script = "trap 'echo warned; exit 0' USR1; echo ready; while :; do sleep 0.02; done"
        with Job("-n", 1, "sh", "-c", script) as job:
            self.ready(job, 1)
            rank = job.children(job.helper())[0]
            for pid in (job.agent(), job.helper(), rank):
                os.kill(pid, signal.SIGUSR1)
            self.assertEqual(self.ended(job)[:2], (0, "warned\n"))

    def test_no_signal_for_the_ranks_ends_an_agent_or_a_helper(self):
        names = ("QUIT", "ALRM", "VTALRM", "PROF", "XCPU", "XFSZ", "IO", "PWR", "RTMIN", "RTMAX")
        script = "trap 'echo warned; exit 0' USR1; echo ready; while :; do sleep 0.02; done"
        with Job("-n", 1, "sh", "-c", script) as job:
            self.ready(job, 1)
            rank = job.children(job.helper())[0]
            for pid in (job.agent(), job.helper()):
                for name in names:
                    os.kill(pid, getattr(signal, "SIG" + name))
            os.kill(rank, signal.SIGUSR1)
            self.assertEqual(self.ended(job), (0, "warned\n", ""))

    def test_the_head_passes_warnings_on(self):
        for number in (signal.SIGUSR1, signal.SIGXCPU, signal.SIGALRM, signal.SIGRTMIN + 1):
            script = (f"trap 'echo warned; exit 0' {int(number)}; echo ready; "
                      "while :; do sleep 0.02; done")
            with self.subTest(number), Job("-n", 1, "bash", "-c", script) as job:
                self.ready(job, 1)
                os.kill(job.process.pid, number)
                self.assertEqual(self.ended(job)[:2], (0, "warned\n"))

    def test_the_agent_of_another_host_ends_the_whole_job(self):
        with Job(*host_options(self, "h2:1,h3:1"), "-n", 2, "--no-tag-output", "sh", "-c",
                 SAVING) as job:
            self.ready(job)
            os.kill(agent_on(job, "h3"), signal.SIGTERM)
            code, output, error = self.ended(job)
            self.assert_saved(output)
            self.assertIn("paceline: host h3: the agent received SIGTERM; ending 2 ranks\n",
                          error)
            self.assertEqual(code, 0)


if __name__ == "__main__":
    unittest.main()
