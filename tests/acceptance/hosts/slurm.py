"""A Slurm cluster of this machine's own: a controller, four nodes, and a munge to trust them by."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from support.processes import Mark  # noqa: E402
from support.waits import poll, until  # noqa: E402

PROGRAMS = ("munged", "slurmctld", "slurmd", "salloc", "sbatch", "srun",
            "sinfo")
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
LIMIT_S = 30

CONFIGURATION = """ClusterName=paceline
SlurmctldHost=localhost
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not():
    """Why there can be none here, or None."""
    missing = [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]
    if missing:
        return f"{', '.join(missing)}: not installed (Debian: slurmctld slurmd slurm-client munge)"
    return None if os.geteuid() == 0 else "slurmd needs root"


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm:
    """Its daemons are children of this process, and the kernel kills them if it dies. At the end of
    the object, no process of a job that was submitted with `env` remains."""

    def __init__(self, nodes=4, settings=""):
        """`settings` are further lines of slurm.conf."""
        self.nodes = nodes
        self.settings = settings
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paceline-slurm-"))
        self.daemons = []
        self.mark = Mark()
        self.env = {**os.environ, **self.mark.variables(), "PATH": PATH,
                    "SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):  # of a controller that is not up
                self.cancel_jobs()
            for daemon in reversed(self.daemons):
                daemon.terminate()
            for daemon in self.daemons:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    daemon.wait(10)
        finally:
            self.mark.kill()
            for daemon in self.daemons:
                daemon.wait()
            shutil.rmtree(self.folder, ignore_errors=True)

    def cancel_jobs(self):
        """The slurmstepd of a job ends only while the controller can be reached."""
        if self.ask("squeue", "-h"):
            self.ask("scancel", "--full", "--signal", "KILL", "--user", os.geteuid())
            poll(lambda: not self.ask("squeue", "-h"), LIMIT_S)

    def ask(self, *words):
        """What a command of Slurm prints."""
        return subprocess.run(list(map(str, words)), env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=LIMIT_S,
                              check=False).stdout

    def start(self, *words):
        log = open(self.folder / f"{words[0]}.out", "a", encoding="utf-8")
        with log:
            self.daemons.append(subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *map(str, words)], env=self.env,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def begin(self):
        folder = self.folder
        ports = free_ports(1 + self.nodes)
        nodes = "\n".join(f"NodeName=n{i} NodeHostname=localhost NodeAddr=127.0.0.1 "
                          f"Port={port} CPUs=2 RealMemory=1000"
                          for i, port in enumerate(ports[1:], start=1))
        (folder / "slurm.conf").write_text(
            CONFIGURATION.format(ports=ports, folder=folder, nodes=nodes) + self.settings)
        (folder / "state").mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self.start("munged", "--foreground", "--force", "--key-file", key,
                   "--socket", folder / "munge.socket", "--pid-file", folder / "munge.pid",
                   "--log-file", folder / "munge.log", "--seed-file", folder / "munge.seed")
        until((folder / "munge.socket").exists, "munged")
        self.start("slurmctld", "-D")
        for i in range(1, self.nodes + 1):
            self.start("slurmd", "-D", "-N", f"n{i}")
        until(self.idle, "idle nodes", LIMIT_S)

    def idle(self):
        return self.ask("sinfo", "-h", "-o", "%D %t").split() == [str(self.nodes), "idle"]
