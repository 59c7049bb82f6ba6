"""A rank in Python. Rank sys.argv[2] loops forever after some operations; the others wait for it.
sys.argv[1] is libpaceline.so."""

import ctypes
import os
import sys

PL_FLOAT32, PL_SUM = 7, 0


def loop_forever():
    value = 0
    while True:
        value = (value + 1) % 1000


def main():
    paceline = ctypes.CDLL(sys.argv[1])
    world = ctypes.c_void_p()
    if paceline.plCommInitFromEnvironment(ctypes.byref(world), None) != 0:
        sys.exit("no communicator")
    data = (ctypes.c_float * 1000)()
    for _ in range(5):
        paceline.plAllReduce(data, data, ctypes.c_size_t(1000), PL_FLOAT32, PL_SUM, world, None)
    if os.environ["RANK"] == sys.argv[2]:
        loop_forever()
    paceline.plAllReduce(data, data, ctypes.c_size_t(1000), PL_FLOAT32, PL_SUM, world, None)


main()
