"""Waits for conditions that no descriptor reports, and reads from processes. Every wait has a
deadline."""

import contextlib
import threading
import time

STEP_S = 0.005


def poll(condition, deadline_s=20):
    """The first true value of `condition`, or its last value once the deadline has passed."""
    end = time.monotonic() + deadline_s
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(STEP_S)
    return value


def until(condition, what, deadline_s=20):
    """The first true value of `condition`. An AssertionError names `what` has not come in time."""
    value = poll(condition, deadline_s)
    if not value:
        raise AssertionError(f"{what}: not within {deadline_s} s")
    return value


@contextlib.contextmanager
def killed_after(process, deadline_s=20):
    """Kills the process if the block takes longer, so that a read of its output ends."""
    timer = threading.Timer(deadline_s, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
