"""`paceline bench` and its measurements."""

import functools
import json
import os
import shutil
import subprocess
import tempfile
import time

from . import refused_calls
from .surroundings import BIN, PACELINE

ROUNDS = 21
PEERS = {"openmpi": ("mpirun.openmpi", "openmpi", "libopenmpi-dev openmpi-bin"),
         "openmpi-1m": ("mpirun.openmpi", "openmpi", "libopenmpi-dev openmpi-bin"),
         "mpich": ("mpirun.mpich", "mpich", "libmpich-dev mpich"),
         "gloo": (str(PACELINE), "gloo", "libgloo-dev")}
# An all-reduce of 4 B by hand, in microseconds (AMD EPYC): 0.06 to 0.077, or 0.25 to 0.29. That
# the former are the threads of one core follows from this and from what they read and write.
MOST_WITHIN_CORE_US = 0.08
PATIENCE_S, NAP_S = 180, 10


class Failure(AssertionError):
    """Why the point does not hold."""


def missing_peer(names):
    """Why one of these peers cannot be measured here, or None."""
    for name in names:
        launcher, program, packages = PEERS[name]
        program = BIN / f"paceline-peer-{program}"
        if shutil.which(launcher) is None or not os.access(program, os.X_OK):
            return f"{name} is not installed (Debian: {packages})"
    return None


def available(names):
    """Those of these peers that can be measured here."""
    return tuple(name for name in names if missing_peer((name,)) is None)


def best_peer(row, peers):
    """How many times as long the best of them took: the median and the 10th percentile."""
    return (min(row[peer, "median"] for peer in peers), min(row[peer, "p10"] for peer in peers))


def await_two_cores():
    """A virtual machine's two CPUs are at times the threads of one core, which reads and writes
    little more than half of what two do: waits until they are not. False: they are to the end."""
    deadline = time.monotonic() + PATIENCE_S
    while bench("all_reduce", 2, 4, extra=("--backend", "raw"))[4]["raw"] < MOST_WITHIN_CORE_US:
        print("  the CPUs are threads of one core", flush=True)
        if time.monotonic() > deadline:
            return False
        time.sleep(NAP_S)
    return True


def bench(operation, ranks, sizes, *, against=(), pairs=ROUNDS, extra=(), refused=()):
    """{bytes: {contender: microseconds, (peer, "p10"): ratio, (peer, "median"): ratio,
    (peer, "excess_ns"): how much longer ours took}}; with system calls that all are refused."""
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as lines:
        words = [str(PACELINE), "bench", operation, "-n", str(ranks), "--json", lines.name]
        if sizes:
            words += ["--bytes", str(sizes), "--check"]
        if against:
            words += ["--against", ",".join(against), "--pairs", str(pairs)]
        words += map(str, extra)
        done = subprocess.run(
            words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=3600,
            preexec_fn=functools.partial(refused_calls.refuse, *refused) if refused else None)
        if done.returncode != 0:
            raise Failure(f"{' '.join(words)}: exit code {done.returncode}: {done.stderr.strip()}")
        table = [line for line in done.stdout.splitlines() if not line.startswith("#")]
        print(*(f"  {line}" for line in table), sep="\n", flush=True)
        found = {}
        for line in map(json.loads, lines.read().splitlines()):
            row = found.setdefault(line["bytes"], {})
            if "against" in line:
                row[line["against"], "median"] = line["ratio_median"]
                row[line["against"], "p10"] = line["ratio_p10"]
                row[line["against"], "excess_ns"] = line["excess_ns_median"]
            else:
                row[line["backend"]] = line["p50_us"]
        return found
