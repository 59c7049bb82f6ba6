"""Machines as data: real ones, in the folder that PACELINE_MACHINES names, and the example here."""

import json
import os
import pathlib
import subprocess
import tarfile
import tempfile

from .surroundings import PACELINE, ROOT

EXAMPLE = ROOT / "tests/acceptance/topology/machines/eight_gpus.json"
KINDS = ("LOC", "NVL", "PIX", "PXB", "PHB", "NODE", "SYS", "NET")
# What describes no machine and is not meant to.
ASIDE = ("LICENSE", "LICENSE.txt", "COPYING", "README", "INDEX.md", "oracles.json")


class Refused(Exception):
    """The sentence with which a description was refused."""


def folder():
    """The folder of machines, or None where nobody has named one."""
    named = os.environ.get("PACELINE_MACHINES")
    return pathlib.Path(named) if named and pathlib.Path(named).is_dir() else None


def files():
    """Every file that describes something, by its name below the folder."""
    root = folder()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if path.is_file() and name.name not in ASIDE and name.suffix != ".conf" \
                and name.parts[0] != "published-tables":
            yield str(name), path


def topo(*words):
    """What `paceline topo` prints. Raises Refused with what it says instead."""
    done = subprocess.run([PACELINE, "topo", *map(str, words)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    if done.returncode == 125:
        raise Refused(done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError(f"topo {words}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def read(*paths):
    """A machine as its JSON says."""
    words = [word for path in paths for word in ("--input", path)]
    return json.loads(topo(*words, "--format", "json"))


def read_archive(path):
    """The machine whose /sys and /proc lie in a tar archive."""
    with tempfile.TemporaryDirectory() as into:
        with tarfile.open(path) as archive:
            archive.extractall(into, filter="fully_trusted")
        (inside,) = pathlib.Path(into).iterdir()
        return read(inside)


def matrix(*paths):
    """{(device, device): word} of `paceline topo --format matrix`; NICs by their names."""
    words = [word for path in paths for word in ("--input", path)]
    lines = topo(*words, "--format", "matrix").splitlines()
    names = {}
    for line in lines:
        key, separator, name = line.strip().partition(": ")
        if separator and key.startswith("NIC"):
            names[key] = name
    header = [word for word in lines[0].split("\t") if word[:3] in ("GPU", "NIC")
              and word[3:].strip().isdigit()]
    cells = {}
    for line in lines[1:]:
        row = [cell.strip() for cell in line.split("\t")]
        if row[0] not in header:
            continue
        for column, cell in zip(header, row[1:]):
            cells[names.get(row[0], row[0]), names.get(column, column)] = cell
    return cells


def cpus(text):
    """The set that a list of CPUs names."""
    numbers = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def value(device, *keys):
    """What is known of a device at `keys`, or None."""
    for key in keys:
        device = device.get(key)
        if device is None:
            return None
    return device["value"] if isinstance(device, dict) and "value" in device else device
