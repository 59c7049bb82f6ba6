"""The build under test, and what this machine allows a test to do."""

import os
import pathlib
import socket
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / (os.environ.get("PACELINE_BUILD") or "build/release")  # may be absolute
BIN = BUILD / "bin"
PACELINE = BIN / "paceline"
DIGITS = BIN / "train_digits"
HOST = socket.gethostname().split(".")[0]
SKIP = 77  # exit code: this machine does not allow the test

# Jobs of tests are not in the run record of the user.
os.environ["XDG_STATE_HOME"] = str(BUILD / "state")


class Unavailable(Exception):
    """Why the test cannot run on this machine."""


def may_mount():
    """Whether this user may have a mount namespace; in a chroot not even root may."""
    return subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def run(words, prepare="", env=None, timeout_s=120):
    """Runs `words`. With `prepare`: in a mount namespace of its own, after these shell commands."""
    if prepare:
        words = ["unshare", "-m", "--propagation", "private", "sh", "-ec",
                 prepare + '\nexec "$@"', "sh", *words]
    return subprocess.run(list(map(str, words)), env={**os.environ, **(env or {})},
                          capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=timeout_s, check=False)
