"""A /dev/shm of its own for a command, in a mount namespace that goes with it."""

import os
import pathlib
import subprocess

BUILD = pathlib.Path(os.environ.get("PACELINE_BUILD") or
                     pathlib.Path(__file__).resolve().parents[3] / "build/release")
PACELINE = str(BUILD / "bin/paceline")
DIGITS = str(BUILD / "bin/train_digits")
SKIP = 77


def may_mount():
    """Whether this user may have a mount namespace."""
    return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


def run(words, prepare="", env=None, timeout_s=120):
    """Runs `words`, after the shell's `prepare` in a mount namespace if there is any."""
    if prepare:
        words = ["unshare", "-m", "--propagation", "private", "sh", "-ec",
                 prepare + '\nexec "$@"', "sh", *words]
    return subprocess.run(words, env={**os.environ, **(env or {})}, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=timeout_s)
