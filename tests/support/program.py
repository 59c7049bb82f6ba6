"""How a program of the tests begins and ends."""

import os
import signal
import subprocess
import sys

from .processes import Mark
from .surroundings import SKIP, Unavailable


def main(function):
    """Ends the program with the exit code that `function` returns (None: 0). If it raises
    Unavailable, the exit code is 77. If an assertion fails or a process takes too long, it is 1.
    The last line has the reason. At the end, also by SIGTERM, what the program has started is
    killed, except processes with a mark of their own (labs, jobs), which `with` blocks end."""
    with Mark() as mark:
        os.environ.update(mark.variables())

        def terminate(number, _):
            mark.kill()  # first, because a `with` block may wait for one of them
            sys.exit(128 + number)

        signal.signal(signal.SIGTERM, terminate)
        # A shell starts programs in the background with these ignored, which jobs would inherit.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        sys.exit(exit_code(function))


def exit_code(function):
    try:
        return function()
    except Unavailable as why:
        print(f"skipped: {why}")
        return SKIP
    except (AssertionError, subprocess.TimeoutExpired) as failure:
        print(f"FAILED: {failure}")
        return 1
