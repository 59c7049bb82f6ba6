"""Programs whose system calls are refused: a seccomp filter."""

import ctypes
import os
import platform
import struct

# Of x86-64.
MEMFD_CREATE = 319
CROSS_MEMORY = (310, 311)  # process_vm_readv, process_vm_writev


def why_not():
    """Why nothing can be refused here, or None."""
    if platform.machine() != "x86_64":
        return "its system call filter is written for x86-64"
    return None


def refuse(*calls):
    """From here on these fail with EPERM, in what this process becomes and starts, too; everything
    else goes on. For preexec_fn: ends the process where the filter is not taken."""
    load, jump_if_equal, answer = 0x20, 0x15, 0x06
    allowed, refused = 0x7FFF0000, 0x00050000 | 1
    program = [(load, 0, 0, 0)]
    for place, call in enumerate(calls):
        program.append((jump_if_equal, len(calls) - place, 0, call))
    program += [(answer, 0, 0, allowed), (answer, 0, 0, refused)]
    steps = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    filter_of = struct.pack("HxxxxxxP", len(program), ctypes.addressof(steps))
    libc = ctypes.CDLL(None)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, filter_of) != 0:
        os._exit(99)
