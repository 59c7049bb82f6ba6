"""Jobs in which one rank or link is late on purpose, and what their figures must name.

Four ranks run on four hosts of a lab. `Runs.late` makes one of them late, and says by evidence of
its own whether it was."""

import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "supervision"))

import memory_cgroup  # noqa: E402
from support.cgroups import hierarchy  # noqa: E402
from support.processes import named_process, processes, read, stat_of  # noqa: E402
from support.surroundings import BIN, PACELINE  # noqa: E402
from support.waits import until  # noqa: E402

RANK = BIN / "telemetry_marked_rank"
HOSTS = 4
LIMIT_S = 120
RATE = "400mbit"  # of every link
STEPS = ("compute_us=1000", "input_us=4000")
SECONDS_OF_STEPS = 4
STEPS_OVER_SLOW_LINKS = 60
LATE_US = 4000
HEALTHY = "healthy"
BEHIND = "data for it came over a slow link"
LINK_FAULTS = {"link": ("slow", "40mbit", "--egress"), "loss": ("drop", 3)}
LONG = ("count=65536",)  # elements of an all-reduce for which the rate of links counts
CAUSES = {"compute": "its computation took longer", "input": "its input took longer",
          "quota": "its control group throttled its CPUs", "stops": "it was stopped",
          "memory": "its memory was read from disk again", "link": BEHIND, "loss": BEHIND}
RIGHT = 0.95
STOPPED_S, RUNNING_S = 0.3, 0.3
FILE_BYTES, MEMORY_BYTES = 64 << 20, 24 << 20
# A lateness that is less than this is no lateness.
LEAST_THROTTLED_S, LEAST_STOPPED_S, LEAST_FAULTS = 0.4, 1.0, 400
# Of all CPUs, for programs that are no part of the lab. With more, no run is healthy.
MOST_FOREIGN, MOST_FOREIGN_IN_HEALTHY = 0.5, 0.15
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def judged(figures, kind, victim, host):
    """Whether the figures name who is late and why, or which link is slow, and nobody else; and
    whom they name."""
    named = [(one["rank"], one["cause"]) for one in figures["waited_for"] if one["cause"]]
    slow = [(one["from"], one["to"]) for one in figures["slow_links"]]
    if kind in LINK_FAULTS:
        ends = (lambda link: link) if kind == "loss" else (lambda link: link[:1])
        behind = {to for _, to in slow}
        hosts = {one["rank"]: one["host"] for one in figures["waited_for"]}
        is_right = bool(slow) and all(host in ends(link) for link in slow) and all(
            cause == BEHIND and hosts[rank] in behind for rank, cause in named)
    else:
        is_right = not slow and named == ([] if kind == HEALTHY else [(victim, CAUSES[kind])])
    return is_right, named + slow


def cpu_times(lab):
    """Seconds that each process outside of the lab has used. Those that only run when nobody else
    does are left out."""
    inside = {*lab.alive(), os.getpid()}
    times = {}
    for pid in processes():
        fields = stat_of(pid)
        with contextlib.suppress(OSError, IndexError):
            if pid not in inside and os.sched_getscheduler(pid) != os.SCHED_IDLE:
                times[pid] = sum(map(int, fields[11:13])) / TICKS_PER_S
    return times


def throttled_s(lab):
    """How long quotas have held the CPUs of the lab's control groups."""
    total = 0.0
    for file in hierarchy("cpu")[0].rglob("cpu.stat"):
        if f"paceline-lab-{lab.name}-" in str(file):
            for name, unit in ((b"throttled_time", 1e-9), (b"throttled_usec", 1e-6)):
                found = re.search(rb"\b" + name + rb" (\d+)", read(file))
                total += unit * int(found[1]) if found else 0
    return total


class Runs:
    """Jobs in a lab. After each, `effect` says in words what the lateness was by its own evidence,
    and `was_late` whether that is much. `disturbance` is the share of all CPUs that programs
    outside of the lab used."""

    def __init__(self, lab):
        self.lab = lab
        self.env = {**lab.env, "XDG_STATE_HOME": str(lab.folder)}
        self.hostfile = lab.hostfile()
        self.file = lab.folder / "touched"
        self.evidence = None  # the file that gets the evidence of the next job
        self.effect, self.was_late, self.disturbance = "", True, 0.0
        self.totals = {}  # by rank: its own account of its steps

    def pid_of(self, host):
        """The rank on a host; None as long as it does not run."""
        return named_process(self.lab.alive(), RANK.name[:15], f"PACELINE_HOST={host}")

    def run(self, steps, *settings, during=None):
        """The figures of a job with one rank on each host, as the record has them."""
        evidence = ["--evidence", self.evidence] if self.evidence else []
        words = [*self.lab.words("exec", "switch"), "--", PACELINE, "run", "--engine", "lab", "-N",
                 "1", "-n", HOSTS, "--hostfile", self.hostfile, *evidence, "--", RANK,
                 f"steps={steps}", *STEPS, *settings]
        before, begin = cpu_times(self.lab), time.monotonic()
        process = subprocess.Popen(list(map(str, words)), env=self.env, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        with during(process) if during else contextlib.nullcontext():
            output, errors = process.communicate(timeout=LIMIT_S)
        if process.returncode != 0:
            raise AssertionError(f"exit code {process.returncode}: {errors.strip()}")
        foreign = sum(used - before.get(pid, 0) for pid, used in cpu_times(self.lab).items())
        self.disturbance = foreign / (time.monotonic() - begin) / os.cpu_count()
        self.totals = {int(rank): json.loads(text) for rank, text in
                       re.findall(r"^\[(\d+)@\S+\] (\{.*\})$", output, re.MULTILINE)}
        runs = subprocess.run([PACELINE, "runs", "--json", "--last", "1"], env=self.env, text=True,
                              capture_output=True, timeout=LIMIT_S, check=True)
        return json.loads(runs.stdout)[0]["figures"]

    def note(self, effect, was_late):
        self.effect, self.was_late = effect, was_late

    def is_disturbed(self, kind):
        return self.disturbance > (MOST_FOREIGN_IN_HEALTHY if kind == HEALTHY else MOST_FOREIGN)

    def words(self):
        """What is known of the last run besides its figures."""
        return (f"{self.effect + ', ' if self.effect else ''}other programs used "
                f"{self.disturbance:.0%} of the CPUs")

    def late(self, kind, victim):
        """Runs a job in which one rank is late."""
        host = f"h{victim + 1}"
        steps = SECONDS_OF_STEPS * 100
        self.note("", True)
        if kind == HEALTHY:
            return self.run(2 * steps, *(LONG if victim % 2 else ()))
        if kind in ("compute", "input"):
            return self.late_in(kind, victim, steps)
        if kind == "quota":
            return self.throttled(host, steps)
        if kind in LINK_FAULTS:
            return self.over_a_bad_link(kind, host)
        if kind == "stops":
            return self.run(steps, during=lambda process: self.stopping(process, host))
        self.forget_files()
        return self.run(steps, f"touch={self.file}", "touches=100",
                        during=lambda process: self.without_memory(host))

    def late_in(self, part, victim, steps):
        figures = self.run(steps, f"late={victim}", f"late_us={LATE_US}", f"late_in={part}")
        others = statistics.median(totals[part] for rank, totals in self.totals.items()
                                   if rank != victim)
        more_s = (self.totals[victim][part] - others) / 1e9
        self.note(f"{more_s:.1f} s more {part}", more_s > LATE_US / 2e6 * steps)
        return figures

    def throttled(self, host, steps):
        self.lab.do("cpu", host, 0.1)
        before = throttled_s(self.lab)
        try:
            return self.run(steps)
        finally:
            held_s = throttled_s(self.lab) - before
            self.lab.do("heal", host)
            self.note(f"throttled for {held_s:.1f} s", held_s >= LEAST_THROTTLED_S)

    def over_a_bad_link(self, kind, host):
        fault, *arguments = LINK_FAULTS[kind]
        self.lab.do(fault, host, *arguments)
        try:
            figures = self.run(STEPS_OVER_SLOW_LINKS, *LONG)
        finally:
            self.lab.do("heal", host)
        sent = [one for one in figures["links"] if host in (one["from"], one["to"])]
        resent = sum(one["resent_bytes"] for one in sent)
        self.note(f"{resent} bytes were sent again", kind == "link" or resent > 0)
        return figures

    def forget_files(self):
        """Makes a file for each rank, none of which is in memory."""
        for rank in range(HOSTS):
            path = pathlib.Path(f"{self.file}.{rank}")
            if not path.exists():
                path.write_bytes(os.urandom(1 << 20) * (FILE_BYTES >> 20))
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)

    @contextlib.contextmanager
    def stopping(self, process, host):
        ending = threading.Event()
        stopped_s = []

        def stop_and_go():
            pid = until(lambda: self.pid_of(host), f"a rank on {host}")
            while process.poll() is None and not ending.wait(RUNNING_S):
                with contextlib.suppress(ProcessLookupError):
                    begin = time.monotonic()
                    os.kill(pid, signal.SIGSTOP)
                    ending.wait(STOPPED_S)
                    os.kill(pid, signal.SIGCONT)
                    stopped_s.append(time.monotonic() - begin)

        thread = threading.Thread(target=stop_and_go)
        thread.start()
        try:
            yield
        finally:
            ending.set()
            thread.join()
            self.note(f"stopped for {sum(stopped_s):.1f} s", sum(stopped_s) >= LEAST_STOPPED_S)

    @contextlib.contextmanager
    def without_memory(self, host):
        with memory_cgroup.limited(f"paceline-late-{os.getpid()}", MEMORY_BYTES) as (folder, _):
            pid = until(lambda: self.pid_of(host), f"a rank on {host}")
            (folder / "cgroup.procs").write_text(str(pid))
            yield
            faults = int(re.search(rb"\bpgmajfault (\d+)", read(folder / "memory.stat"))[1])
            self.note(f"{faults} major page faults", faults >= LEAST_FAULTS)
