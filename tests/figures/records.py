"""The file of records: one JSON line for each figure of each run."""

import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess


def default_file():
    state = os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local/state"
    return pathlib.Path(state) / "paceline/figures.jsonl"


def machine():
    """What figures depend on, and a short digest of it. No host name: figures may be shared."""
    cpus = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    model = re.search(r"^(?:model name|CPU part)\s*: (.*)$", cpus, re.MULTILINE)
    total_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    found = {"cpu": model[1].strip() if model else platform.machine(),
             "cpus": len(os.sched_getaffinity(0)),
             "memory_gib": round(total_bytes / (1 << 30)),
             "kernel": platform.release()}
    digest = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
    return {**found, "id": digest[:8]}


def commit(root):
    """The commit of the tree, with "-dirty" if tracked files differ from it."""
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "describe", "--always",
                           "--dirty"], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() or "unknown"


def read(file):
    """All records, the oldest first. A broken line, as an interrupted run may leave it, is left
    out."""
    found = []
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                print(f"warning: a line of {file} is not JSON and is ignored: {line[:80]}")
    return found


def append(file, records):
    """Adds them after whole lines: an interrupted run may have left a part of one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    before = file.read_bytes() if file.exists() else b""
    with file.open("a", encoding="utf-8") as out:
        out.write("\n" if before and not before.endswith(b"\n") else "")
        out.writelines(json.dumps(record) + "\n" for record in records)


def last_figures(records, machine_id, program):
    """Names of the figures of the last recorded run of a program on one machine."""
    runs = {}
    for one in records:
        if (one["machine"]["id"], one["program"]) == (machine_id, program):
            runs.setdefault(one["time"], []).append(one["figure"])
    return runs[max(runs)] if runs else []


def earlier_values(records, machine_id, program, name):
    """Values of one figure on one machine, the oldest first."""
    return [one["value"] for one in records if one["machine"]["id"] == machine_id
            and (one["program"], one["figure"]) == (program, name)]
