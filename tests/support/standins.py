"""Libraries that stand in for ones that need hardware (tests/standins)."""

import os
import pathlib

from .surroundings import BIN

STANDINS = pathlib.Path(os.environ.get("PACELINE_BIN") or BIN).parent / "standins"


def with_libraries(*folders):
    """Variables with which a program finds libraries in these folders first."""
    known = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": ":".join([*map(str, folders), *([known] if known else [])])}


def with_nccl(variant):
    return with_libraries(STANDINS / "cuda", STANDINS / variant)


# The loader may find NCCL anywhere.
WITHOUT_NCCL = {**with_libraries(STANDINS / "cuda"), "PACELINE_NCCL": "0"}
