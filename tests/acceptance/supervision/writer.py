"""A rank that writes random fragments to both its streams and remembers what it wrote.

usage: writer.py SEED SECONDS FOLDER

Fragments are 0 to 100,000 bytes of any value but carriage returns, which begin a line anew on the
console; two in five end a line. Writes `<rank> <bytes> <sha256> <bytes> <sha256>`, standard output
first, to FOLDER/<rank>.
"""

import hashlib
import os
import pathlib
import random
import sys
import time

POOL_BYTES = 1 << 18
LINE_ENDS = 0.4
LONGEST = (100, 100, 100, 300, 300, 4000)
SELDOM = 0.001  # a fragment longer than a pipe
LONGEST_SELDOM = 100_000


def fragment(draws, pool):
    longest = LONGEST_SELDOM if draws.random() < SELDOM else draws.choice(LONGEST)
    begin = int(draws.random() * (len(pool) - longest))
    end = begin + int(draws.random() * (longest + 1))
    return pool[begin:end] + (b"\n" if draws.random() < LINE_ENDS else b"")


def main():
    seed, seconds, folder = sys.argv[1:]
    rank = os.environ["RANK"]
    draws = random.Random(f"{seed}/{rank}")
    pool = draws.randbytes(POOL_BYTES).translate(None, b"\n\r")
    written = {1: 0, 2: 0}
    digests = {1: hashlib.sha256(), 2: hashlib.sha256()}
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        stream = 1 if draws.random() < 0.6 else 2
        rest = fragment(draws, pool)
        while rest:
            count = os.write(stream, rest)
            digests[stream].update(rest[:count])
            written[stream] += count
            rest = rest[count:]
    words = [rank, *(str(word) for stream in (1, 2)
                     for word in (written[stream], digests[stream].hexdigest()))]
    pathlib.Path(folder, rank).write_text(" ".join(words))


if __name__ == "__main__":
    main()
