"""Jobs on the hosts of a lab whose head is at the switch, with one rank on each host."""

import os
import subprocess
import time
from typing import NamedTuple

from .lab import LIMIT_S
from .surroundings import PACELINE

OWN_VARIABLES = ("PACELINE_NET", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")


class Ended(NamedTuple):
    """How a job ended."""
    code: int
    seconds: float
    output: str
    errors: str


def run(lab, *command, options=("--engine", "lab"), variables=None, hosts=None):
    """One rank on each host, those of the lab if nothing is said, without lines about speed. The
    lab is called "lab", as the engine of that name wants it."""
    env = {name: value for name, value in lab.env.items() if name not in OWN_VARIABLES}
    words = [*lab.words("exec", "switch"), "--", PACELINE, "run", "--quiet", *options, "-n",
             lab.hosts, "--hostfile", hosts or lab.hostfile(), "--", *command]
    begin = time.monotonic()
    done = subprocess.run(list(map(str, words)), env={**env, **(variables or {})}, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S,
                          check=False)
    return Ended(done.returncode, time.monotonic() - begin, done.stdout, done.stderr)


def agents_with(folder, host, *words):
    """Options of a job that put `words` before the agent of `host`: `env NAME=VALUE`, say."""
    script = folder / "start_agent"
    script.write_text(f'#!/bin/sh\nhost=$1\nshift\n[ "$host" = {host} ] && set -- '
                      f'{" ".join(map(str, words))} "$@"\n'
                      f'exec {PACELINE} lab exec "$host" -- "$@"\n', encoding="utf-8")
    os.chmod(script, 0o755)
    return ("--launch-agent", f"{script} {{host}}")
