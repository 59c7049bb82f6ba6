"""`paceline bench gradient` on the hosts of a lab, and its measurements."""

import contextlib
import json
import os
import subprocess

from .lab import Lab
from .surroundings import BIN, PACELINE

TRACES = ("resnet50", "bert", "gpt2")
LIMIT_S = 4 * 3600


def has_ddp():
    """Whether PyTorch's DDP can be compared with."""
    return os.access(BIN / "paceline-peer-ddp", os.X_OK)


class Hosts:
    """Some hosts whose links have a rate, with one rank on each."""

    def __init__(self, lab):
        self.lab = lab
        self.lines = lab.folder / "gradient.jsonl"

    def bench(self, trace, *options):
        """What --json writes: a dict for each contender by its name, and for each comparison by
        both names, ours first. Prints the table."""
        hosts = ["--hostfile", self.lab.hostfile(), "--launch-agent",
                 f"{' '.join(self.lab.words('exec'))} {{host}} --", "-n", self.lab.hosts, "-N", 1]
        words = [*self.lab.words("exec", "switch"), "--", PACELINE, "bench", "gradient", "--trace",
                 trace, "--json", self.lines, *hosts, *options]
        done = subprocess.run(list(map(str, words)), env=self.lab.env, capture_output=True,
                              text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, check=False)
        print(done.stdout, end="", flush=True)
        if done.returncode != 0:
            raise AssertionError(f"bench gradient {trace} {' '.join(map(str, options))}: exit code "
                                 f"{done.returncode}: {done.stderr.strip()}")
        lines = map(json.loads, self.lines.read_text().splitlines())
        return {(line["contender"], line["against"]) if "against" in line else line["contender"]:
                line for line in lines}


@contextlib.contextmanager
def hosts_at(rate, number):
    with Lab(hosts=number) as lab:
        lab.up("--slots", 1, "--rate", rate)
        yield Hosts(lab)
