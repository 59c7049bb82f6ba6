"""Time, sleep and randomness are injected: the calls that make them stay in their homes."""

import re
from typing import NamedTuple

from .tree import Finding


class Home(NamedTuple):
    what: str
    call: str  # regular expression on code without comments and literals
    homes: tuple  # paths where the call may stand
    instead: str


HOMES = [
    Home("reads a clock",
         r"\b(?:steady|system|high_resolution|utc|file)_clock\s*::\s*now\b"
         r"|\b(?:clock_gettime|gettimeofday|timespec_get)\s*\("
         r"|(?<![\w.>])time\s*\(\s*(?:nullptr|NULL|0|&)",
         # The second one is preloaded, and changes the clock that a program reads. The third one is
         # a program of another project: it has only the C interface.
         ("comm/base/clock.cc", "tests/acceptance/hosts/shifted_clock.c",
          "tests/acceptance/devices/c_trainer.c"),
         "take a Clock (comm/base/clock.h)"),
    Home("sleeps",
         r"\b(?:usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until)\s*\("
         r"|(?<!\w)::sleep\s*\(|(?<![\w.>:])sleep\s*\(\s*\d",
         # The last one replays computing on a GPU, during which its host sleeps.
         ("comm/poll_engine.cc", "comm/poll_engine.h",
          "launcher/tools/measure/probe/gradient/stand_in.cc"),
         "wait through Engine::wait"),
    Home("draws random numbers",
         r"\b(?:random_device|mt19937(?:_64)?|minstd_rand0?|default_random_engine)\b"
         r"|(?<![\w.>])s?rand\s*\("
         r"|\b(?:[dlm]rand48|getrandom|getentropy|RAND_(?:priv_)?bytes)\s*\(",
         ("comm/base/random.cc", "comm/base/random.h"), "take a Random (comm/base/random.h)"),
]


def check(tree):
    """No clock, sleep or randomness outside its home (table in rules/homes.py)."""
    for file in tree.of_kind("c++"):
        for home in HOMES:
            if file.path in home.homes:
                continue
            for match in re.finditer(home.call, file.code):
                line = file.code.count("\n", 0, match.end()) + 1
                yield Finding(file.path, line,
                              f"{match[0].strip()} {home.what}: {home.instead}")
