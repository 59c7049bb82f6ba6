"""A job under attack, as /proc shows it: its processes, their listeners, and places where its key
can be read."""

import base64
import os
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from support.processes import PROC, entries, family, read  # noqa: E402

LISTENS = "0A"  # the state in /proc/net/tcp
ACCEPTS = 0x10000  # the flag in /proc/net/unix
SCANNED = ("/tmp", "/var/tmp", "/dev/shm")
MOST_SCANNED_BYTES = 64 << 20  # of one file
KEY_FD_FORM = re.compile(rb"PACELINE_JOB_KEY_(FD=\d+|FILE=/.*)")


class Process:
    """A process that was started here, its output and errors in files of `folder`. Its ranks talk
    over TCP: between ranks that share memory there is no door for strangers."""

    def __init__(self, folder, name, command, env=None):
        self.name = name
        self.files = [folder / f"{name}.out", folder / f"{name}.err"]
        with open(self.files[0], "wb") as out, open(self.files[1], "wb") as err:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.PIPE, stdout=out, stderr=err,
                cwd=folder, start_new_session=True,
                env={**os.environ, "PACELINE_BACKEND": "tcp", **(env or {})})
        self.pid = self.process.pid

    def output(self):
        return self.files[0].read_text(errors="replace")

    def errors(self):
        return self.files[1].read_text(errors="replace")

    def end(self, limit_s):
        """Ends its input and waits; its exit code must be 0."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            code = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = f"none after {limit_s} s"
        if code != 0:
            raise AssertionError(f"{self.name}: exit code {code}\n{self.output()}{self.errors()}")

    def kill(self):
        """Ends whatever is left of it. The launcher's own death takes its ranks along."""
        if self.process.stdin:
            self.process.stdin.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)


def ranks_of(pid):
    """Rank -> pid among the processes that `pid` has started."""
    found = {}
    for child in family(pid):
        for variable in read(PROC / str(child) / "environ").split(b"\0"):
            if variable.startswith(b"RANK=") and child != pid:
                found[int(variable[5:])] = child
    return found


def sockets_of(pids):
    """Inode -> pid."""
    found = {}
    for pid in pids:
        for entry in entries(PROC / str(pid) / "fd"):
            try:
                match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry))
            except OSError:
                continue
            if match:
                found.setdefault(int(match[1]), pid)
    return found


def tcp_doors(pids):
    """(address, port) -> pid of each listening TCP socket of the processes."""
    owners = sockets_of(pids)
    found = {}
    for table in ("tcp", "tcp6"):
        for line in read(PROC / "net" / table).decode().splitlines()[1:]:
            fields = line.split()
            if fields[3] != LISTENS or int(fields[9]) not in owners:
                continue
            digits, port = fields[1].split(":")
            if table == "tcp6":
                raise AssertionError(f"nothing should listen on IPv6, but {line.strip()}")
            octets = reversed(bytes.fromhex(digits))  # as a little-endian host stores the word
            found[".".join(map(str, octets)), int(port, 16)] = owners[int(fields[9])]
    return found


def unix_doors(pids):
    """Name -> pid of each listening Unix socket with an abstract name; '@' stands for the zero
    byte. The control service has a file, and tests of its own in job/others_watch_and_cancel."""
    owners = sockets_of(pids)
    found = {}
    for line in read(PROC / "net" / "unix").decode().splitlines()[1:]:
        fields = line.split()
        if int(fields[3], 16) & ACCEPTS and int(fields[6]) in owners and fields[7:] \
                and fields[7].startswith("@"):
            found[fields[7]] = owners[int(fields[6])]
    return found


def roles_of(pid):
    """Pid -> what it is, of the process and all that it has started: a rank goes by its number,
    any other by its place among those of the launcher."""
    roles = {child: f"rank {rank}" for rank, child in ranks_of(pid).items()}
    others = [process for process in family(pid) if process not in roles]
    return roles | {process: f"launcher process {i}" for i, process in enumerate(others)}


def forms_of(digits):
    """The forms in which the key of 64 hexadecimal digits could stand somewhere."""
    raw = bytes.fromhex(digits)
    return [raw, digits.encode(), digits.upper().encode(), base64.b64encode(raw).rstrip(b"="),
            base64.urlsafe_b64encode(raw).rstrip(b"="), base64.b64encode(digits.encode())[:-4]]


def places_with(forms, pids, folder, begin, except_for):
    """Where one of `forms` is to be seen: argument lists, environments, the job's own output, and
    files that were written since `begin`."""
    for entry in PROC.glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            if any(form in read(entry / name) for form in forms):
                yield entry / name
    for pid in pids:
        for variable in read(PROC / str(pid) / "environ").split(b"\0"):
            if variable.startswith(b"PACELINE_JOB_KEY") and not KEY_FD_FORM.fullmatch(variable):
                yield PROC / str(pid) / "environ"
    for root in (folder, *SCANNED):
        for place, _, names in os.walk(root):
            for path in (pathlib.Path(place, name) for name in names):
                if path not in except_for and is_new(path, begin) and any(
                        form in read(path) for form in forms):
                    yield path


def is_new(path, begin):
    try:
        status = path.lstat()
    except OSError:
        return False
    return path.is_file() and not path.is_symlink() and status.st_mtime >= begin - 2 and \
        status.st_size <= MOST_SCANNED_BYTES
