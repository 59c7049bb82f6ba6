"""The line by which a program of tests/figures reports a figure. tests/figures/run reads it;
tests/harness/figure.h prints the same line from C++."""

import contextlib
import json
import math

LOWER, HIGHER = "lower", "higher"
PREFIX = "figure: "
KEYS = {"name", "value", "unit", "better", "wanted"}


def holds(value, better, wanted):
    """Whether `value` is at least as good as the bound `wanted`; None: there is no bound."""
    if wanted is None:
        return True
    return value <= wanted if better == LOWER else value >= wanted


def report(name, value, unit, better, wanted=None):
    """Prints the figure; returns whether it holds its bound. `name` is unique in its program and
    stays the same from run to run. `value` is compared by its ratio to earlier ones: where it may
    be near zero, report a sum or a quotient in its place."""
    line = {"name": name, "value": value, "unit": unit, "better": better, "wanted": wanted}
    print(PREFIX + json.dumps(line), flush=True)
    return holds(value, better, wanted)


def parse(line):
    """The figure that a line of a program's output reports, or None. Raises ValueError for a line
    that reports no figure with a finite value."""
    if not line.startswith(PREFIX):
        return None
    with contextlib.suppress(ValueError, TypeError):
        figure = json.loads(line[len(PREFIX):])
        if set(figure) == KEYS and math.isfinite(figure["value"]):
            return figure
    raise ValueError(f"not a figure: {line.strip()}")
