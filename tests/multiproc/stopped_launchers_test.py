"""A stopped agent or spawn helper ends its job and is named; a stopped rank or head does not end
it.

Each test takes as long as the max silence of a process, so its jobs run at the same time.
"""

import contextlib
import os
import signal
import tempfile
import time
import unittest

from launched import Job, LauncherTest, until

HOSTS = ("-H", "a:1,b:1", "--launch-agent", "env X={host}")
ON_HOSTS = {"PACELINE_NET": "lo"}
AGENT = "the agent has not answered for 10 s: it is stopped"
HELPER = r"the spawn helper \(pid \d+\) has not answered for 10 s: it is stopped"
# Longer than the max silence of a process.
PAUSE_S = 13


def stop(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)


class StoppedLaunchers(LauncherTest):
    def setUp(self):
        self.jobs = contextlib.ExitStack()
        self.addCleanup(self.jobs.close)
        self.folder = self.jobs.enter_context(tempfile.TemporaryDirectory())

    def start(self, script, ready=2, options=("-n", 2), **settings):
        """The job, and the pids of its ranks once each has said `ready`."""
        job = self.jobs.enter_context(
            Job(*options, "--no-tag-output", "sh", "-c", f"echo $RANK $$; {script}", **settings))
        lines = [job.process.stdout.readline().split() for _ in range(ready)]
        return job, {int(rank): int(pid) for rank, pid in lines}

    def assert_ended(self, job, text):
        code, _, error = job.wait()
        self.assertEqual(code, 125, error)
        self.assertRegex(error, text)
        self.assert_gone(job)

    def in_the_middle(self):
        for name, text in (("agent", AGENT), ("helper", HELPER), ("both", AGENT)):
            job, _ = self.start("exec sleep 1000")
            agent, helper = job.agent(), job.helper()
            stop(*{"agent": [agent], "helper": [helper], "both": [helper, agent]}[name])
            yield f"{name} in the middle", job, text

    def when_a_rank_dies(self):
        for name, text in (("agent", AGENT), ("helper", HELPER)):
            job, pids = self.start("exec sleep 1000")
            stop(job.agent() if name == "agent" else job.helper())
            os.kill(pids[1], signal.SIGKILL)
            yield f"{name} when a rank dies", job, text

    def when_all_ranks_have_ended(self):
        for name, text in (("agent", AGENT), ("helper", HELPER)):
            path = f"{self.folder}/{name}"
            job, pids = self.start(f"until [ -e {path} ]; do sleep 0.05; done")
            stop(job.agent() if name == "agent" else job.helper())
            with open(path, "w", encoding="ascii"):
                pass
            self.assertTrue(until(lambda job=job, pids=pids: not set(pids.values()) & set(
                job.alive())))
            yield f"{name} when all ranks have ended", job, text

    def on_another_host(self):
        for name, text in (("agent", f"host b: {AGENT}"), ("helper", f"host b: {HELPER}")):
            job, pids = self.start("exec sleep 1000", options=("-n", 2, *HOSTS), env=ON_HOSTS)
            helpers = {helper: agent for agent in job.children(job.process.pid)
                       for helper in job.children(agent)}
            helper = next(one for one in helpers if pids[1] in job.children(one))
            stop(helpers[helper] if name == "agent" else helper)
            yield f"{name} on another host", job, text

    def test_of_a_job_that_runs(self):
        jobs = [*self.in_the_middle(), *self.when_a_rank_dies(),
                *self.when_all_ranks_have_ended(), *self.on_another_host()]
        for name, job, text in jobs:
            with self.subTest(stopped=name):
                self.assert_ended(job, text)

    def after_its_own_ranks(self):
        """The first host's agent serves the store, also when its own ranks have ended."""
        texts = {signal.SIGSTOP: "host a: the agent has not answered for 2 s",
                 signal.SIGKILL: "host a: the agent is gone.*; with it .* store"}
        for number, text in texts.items():
            job, pids = self.start("[ $RANK = 0 ] && exit 0; exec sleep 1000", env=ON_HOSTS,
                                   options=("-n", 2, "--max-silence", 2, *HOSTS))
            agents = {agent: set(job.children(agent)) for agent in job.children(job.process.pid)}
            serving = next(agent for agent, helpers in agents.items()
                           if not any(pids[1] in job.children(helper) for helper in helpers))
            self.assertTrue(until(lambda job=job, agent=serving: not job.children(agent)))
            time.sleep(0.5)  # until the head knows that the host has finished
            os.kill(serving, number)
            yield f"{number.name} after its own ranks", job, text

    def test_of_the_host_of_the_store(self):
        for name, job, text in [*self.after_its_own_ranks()]:
            with self.subTest(stopped=name):
                self.assert_ended(job, text)

    def test_a_job_may_allow_longer_silences(self):
        path = f"{self.folder}/end"
        job, _ = self.start(f"until [ -e {path} ]; do sleep 0.05; done",
                            options=("-n", 2, "--max-silence", 60))
        pids = job.agent(), job.helper()
        stop(*pids)
        time.sleep(PAUSE_S)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        with open(path, "w", encoding="ascii"):
            pass
        code, _, error = job.wait()
        self.assertEqual((code, error), (0, ""))

    def at_the_start(self):
        texts = {"agent": rf"{AGENT}|the agent has not answered for 25 s|"
                          "the agent has not described its machine within 25 s",
                 "helper": HELPER}
        for name, text in texts.items():
            job, _ = self.start("exec sleep 1000", ready=0)
            target = until(lambda job=job: job.children(job.process.pid))[0]
            if name == "helper":
                target = until(lambda agent=target, job=job: job.children(agent))[0]
            stop(target)
            yield f"{name} at the start", job, text

    def test_at_the_start_and_where_no_head_watches(self):
        unwatched, pids = self.start("exec sleep 1000")
        agent, helper = unwatched.agent(), unwatched.helper()
        stop(unwatched.process.pid, agent)
        for name, job, text in [*self.at_the_start()]:
            with self.subTest(stopped=name):
                self.assert_ended(job, text)
        self.assertTrue(until(lambda: not {agent, helper, *pids.values()} & set(
            unwatched.alive()), 60))
        os.kill(unwatched.process.pid, signal.SIGCONT)
        self.assert_ended(unwatched, r"the agent \(pid \d+\) has not run for 30 s")

    def test_stopped_ranks_and_heads_are_not_lost(self):
        path = f"{self.folder}/end"
        script = f"until [ -e {path} ]; do sleep 0.05; done"
        ranks, pids = self.start(script)
        stop(*pids.values())
        head, _ = self.start(script)
        stop(head.process.pid)
        key, _ = self.start(script)  # SIGTSTP, as by Ctrl-Z
        key.process.send_signal(signal.SIGTSTP)
        time.sleep(PAUSE_S)
        for pid in (*pids.values(), head.process.pid, key.process.pid):
            os.kill(pid, signal.SIGCONT)
        time.sleep(3)  # the head checks once a second
        with open(path, "w", encoding="ascii"):
            pass
        for name, job in (("ranks", ranks), ("head", head), ("Ctrl-Z", key)):
            with self.subTest(stopped=name):
                code, _, error = job.wait()
                self.assertEqual((code, error), (0, ""))


if __name__ == "__main__":
    unittest.main()
