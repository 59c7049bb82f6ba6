"""Control groups of this machine, of version 1 or 2: see cgroups(7)."""

import os
import pathlib

from .surroundings import Unavailable

MOUNTS = pathlib.Path("/proc/self/mountinfo")


def hierarchy(controller):
    """(mount point, name of the group that is seen there, version) of a controller that new groups
    have. Raises Unavailable if there is none."""
    found = {}
    for line in MOUNTS.read_text().splitlines():
        mount, _, system = line.partition(" - ")
        root, point = mount.split()[3:5]
        kind, _, options = system.split()[:3]
        if kind == "cgroup" and controller in options.split(","):
            found[1] = pathlib.Path(point), root, 1
        if kind == "cgroup2":
            found[2] = pathlib.Path(point), root, 2
    if 1 in found:
        return found[1]
    control = found[2][0] / "cgroup.subtree_control" if 2 in found else None
    if control is None or not control.exists() or controller not in control.read_text().split():
        raise Unavailable(f"no {controller} controller is available")
    return found[2]


def limits_cpus():
    """Whether this user can make a group that limits CPUs."""
    try:
        point, _, version = hierarchy("cpu")
        folder = point / f"paceline-probe-{os.getpid()}"
        folder.mkdir()
        try:
            return os.access(folder / ("cpu.cfs_quota_us" if version == 1 else "cpu.max"), os.W_OK)
        finally:
            folder.rmdir()
    except (Unavailable, OSError):
        return False
