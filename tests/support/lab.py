"""A lab of `paceline lab` for a test: a folder for the lab's records, a mark on its processes,
traffic between its hosts, and what remains after its end."""

import contextlib
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import uuid

from .cgroups import limits_cpus
from .processes import Mark, is_alive, processes, read
from .surroundings import PACELINE, Unavailable
from .waits import killed_after

TRAFFIC = pathlib.Path(__file__).resolve().parent / "traffic.py"
LIMIT_S = 60
ON_THE_WAY_S = 0.15  # datagrams that have not arrived by then are lost
KINDS = ("net", "mnt", "uts", "ipc", "pid")
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])

# The namespaces of a host, and a mount and the links in them.
NAMESPACES = ("--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--mount-proc")
PARTS = """mount -t tmpfs lab /dev/shm
ip -batch - <<LINKS
link add lab0 type bridge
link add lab1 type veth peer name lab2
link set lab1 master lab0 up
LINKS
tc qdisc replace dev lab1 root tbf rate 1mbit burst 10000 limit 100000
"""


def may_be_made():
    """Raises Unavailable if this user cannot make what a lab consists of, or programs are missing.
    It makes the parts without `paceline`: if they can be made, a `paceline lab up` that fails is a
    fault."""
    if not os.access(PACELINE, os.X_OK):
        raise Unavailable(f"there is no {PACELINE}; build it, or set PACELINE_BUILD")
    for program in ("ip", "tc", "nft"):
        if not shutil.which(program, path=PATH):
            raise Unavailable(f"{program} is not installed (Debian: iproute2, nftables)")
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    made = subprocess.run(["unshare", *user, *NAMESPACES, "sh", "-ec", PARTS],
                          env={**os.environ, "PATH": PATH}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if made.returncode != 0:
        raise Unavailable(f"namespaces and links cannot be made here: {made.stderr.strip()}")


def has_sshd():
    """Whether hosts of a lab can have an sshd: `up --ssh` must succeed then."""
    return os.geteuid() == 0 and all(shutil.which(program, path=PATH)
                                     for program in ("sshd", "ssh-keygen"))


def namespaces_of(pid):
    """The namespaces of a process, as the kernel names them: "net:[4026532008]"."""
    try:
        return {os.readlink(f"/proc/{pid}/ns/{kind}") for kind in KINDS}
    except OSError:
        return set()


def files_below(folder):
    """Files and folders, without those that disappear meanwhile."""
    return [os.path.join(where, name) for where, folders, files in os.walk(folder)
            for name in [*folders, *files]]


class Lab:
    """`paceline lab` with a name and a runtime folder of its own. Leaves nothing behind."""

    def __init__(self, hosts=2):
        self.hosts = hosts
        self.name = "t" + uuid.uuid4().hex[:8]
        self.mark = Mark()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paceline-lab-"))
        self.env = {**os.environ, **self.mark.variables(), "TMPDIR": str(self.folder),
                    "XDG_RUNTIME_DIR": str(self.folder)}
        self.held = []

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            done = self.run("down")
            if done.returncode != 0:
                self.mark.kill()
                self.run("list")  # removes the control groups of a lab that was killed
                failure = f"lab down: exit code {done.returncode}: {done.stderr.strip()}"
                if kind is None:
                    raise AssertionError(failure)
                print(failure, flush=True)
        finally:
            self.mark.kill()
            for descriptor in self.held:
                os.close(descriptor)
            shutil.rmtree(self.folder, ignore_errors=True)

    def words(self, action, *arguments):
        return [str(PACELINE), "lab", action, "--name", self.name, *map(str, arguments)]

    def run(self, action, *arguments):
        return subprocess.run(self.words(action, *arguments), env=self.env, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False)

    def do(self, action, *arguments):
        """Runs the action, which must succeed; returns its output."""
        done = self.run(action, *arguments)
        if done.returncode != 0:
            raise AssertionError(f"lab {action} {' '.join(map(str, arguments))}: "
                                 f"exit code {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def start(self, action, *arguments, **options):
        return subprocess.Popen(self.words(action, *arguments), env=self.env, text=True,
                                stdin=subprocess.DEVNULL, **options)

    def up(self, *options):
        return self.do("up", "--hosts", self.hosts, *options)

    def limit_cpus(self, host, cpus):
        """False if this user cannot make a group that limits CPUs."""
        done = self.run("cpu", host, cpus)
        if done.returncode != 0 and limits_cpus():
            raise AssertionError(f"lab cpu {host} {cpus}: {done.stderr.strip()}")
        return done.returncode == 0

    def hostfile(self):
        """The hostfile of the lab, in a folder with its other files."""
        return next(self.folder.rglob("hosts"))

    def record(self):
        """The numbers of the keeper and of the hosts' first processes, while it is up."""
        lines = [line.split() for file in self.folder.rglob("record")
                 for line in read(file).decode().splitlines()]
        return ([int(line[1]) for line in lines if line[0] == "keeper"][0],
                [int(line[1]) for line in lines if line[0] == "init"])

    def alive(self):
        """The lab's processes, and what was started in it, that are not zombies."""
        return self.mark.alive()

    def namespaces(self):
        """The namespaces of the lab, without those of the machine."""
        return set().union(*map(namespaces_of, self.alive())) - namespaces_of("self")

    def hold_namespaces(self):
        """The namespaces of the lab, held open until this object ends. So no later namespace gets
        the number of one of them, and a process that is still in one was left by the lab."""
        machine = namespaces_of("self")
        held = set()
        for pid in self.alive():
            for kind in KINDS:
                with contextlib.suppress(OSError):  # it has ended meanwhile
                    self.held.append(os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC))
                    held.add(os.readlink(f"/proc/self/fd/{self.held[-1]}"))
        return held - machine

    def left(self, namespaces=frozenset()):
        """Describes what is left of a lab that should have ended."""
        found = [f"process {pid}: {read(f'/proc/{pid}/cmdline')!r}" for pid in self.alive()]
        found += [f"{pid} is still in {', '.join(inside)}" for pid in processes()
                  if is_alive(pid) and (inside := namespaces_of(pid) & set(namespaces))]
        mounts = read("/proc/self/mountinfo").decode()
        found += [f"mount: {line}" for line in mounts.splitlines()
                  if str(self.folder) in line or any(name in line for name in namespaces)]
        found += [f"file {path}" for path in files_below(self.folder)]
        # glob, because pathlib fails if a folder disappears while it looks.
        return found + [f"cgroup {path}" for depth in ("*", "*/*", "*/*/*") for path in
                        glob.glob(f"/sys/fs/cgroup/{depth}/paceline-lab-{self.name}-*")]

    # Traffic: traffic.py on two hosts.

    def listen(self, host, *words):
        """Starts a program that receives, and waits until it is ready."""
        process = self.start("exec", host, "--", sys.executable, TRAFFIC, *words,
                             stdout=subprocess.PIPE)
        with killed_after(process):
            line = process.stdout.readline()
        if line != "ready\n":
            raise AssertionError(f"traffic.py does not run on {host}")
        return process

    def rate(self, source, target, address, sent_bytes):
        """Bits per second of a transfer, as the wire counts them."""
        with self.listen(target, "receive") as receiver:
            self.do("exec", source, "--", sys.executable, TRAFFIC, "send", address, sent_bytes)
            received, seconds = map(float, receiver.communicate(timeout=LIMIT_S)[0].split())
        # 1448 bytes of data in a frame of 1514, where timestamps are on (RFC 7323).
        return 8 * received / seconds * 1514 / 1448

    def arrivals(self, source, target, address, count=200, size=100):
        """How many of so many datagrams arrive."""
        with self.listen(target, "count") as receiver:
            self.do("exec", source, "--", sys.executable, TRAFFIC, "datagrams", address, count,
                    size)
            time.sleep(ON_THE_WAY_S)
            receiver.terminate()
            return int(receiver.communicate(timeout=LIMIT_S)[0])

    def round_trip(self, source, target, address, number=50):
        """The shortest of some, in seconds."""
        with self.listen(target, "echo", str(number)) as server:
            seconds = self.do("exec", source, "--", sys.executable, TRAFFIC, "round_trips", address,
                              number)
            server.wait(LIMIT_S)
            return float(seconds)
