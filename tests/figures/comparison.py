"""Compares a figure with its earlier records. Pure."""

import statistics
from typing import NamedTuple, Optional

MOST_RECORDS = 9  # the last ones that count
LEAST_TOLERANCE = 0.1  # of the median
SPREADS = 3


class Comparison(NamedTuple):
    median: Optional[float]  # of the earlier values; None: there are none
    tolerance: float  # by how much the value may differ from the median
    verdict: str  # new, same, better or worse


def compare(value, better, earlier):
    """`better` is "lower" or "higher"; `earlier` holds values, the newest last. The tolerance is
    10 % of the median of the last nine, or three times their median absolute deviation if that is
    more: figures that vary from run to run need a larger change."""
    last = earlier[-MOST_RECORDS:]
    if not last:
        return Comparison(None, 0.0, "new")
    median = statistics.median(last)
    spread = statistics.median(abs(one - median) for one in last)
    tolerance = max(LEAST_TOLERANCE * abs(median), SPREADS * spread)
    if abs(value - median) <= tolerance:
        return Comparison(median, tolerance, "same")
    is_better = (value < median) == (better == "lower")
    return Comparison(median, tolerance, "better" if is_better else "worse")
