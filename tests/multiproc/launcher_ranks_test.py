"""The surroundings of ranks at their start: environment, descriptors, signals, input."""

import os
import signal
import subprocess
import unittest

from launched import PACELINE, Job, LauncherTest


def assignments(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


class Ranks(LauncherTest):
    def environment(self, *options, env=None):
        code, output, error = self.run_job(*options, "--", "env", env=env)
        self.assertEqual((code, error), (0, ""))
        return assignments(output)

    def test_identity(self):
        script = 'echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK ' \
                 '$OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE"'
        _, output, _ = self.run_job("-n", 5, "--no-tag-output", "sh", "-c", script,
                                    env={"RANK": "77", "WORLD_SIZE": "99"})
        self.assertEqual(sorted(output.splitlines()), [f"{r} {r} 5 5 0 {r} 5" for r in range(5)])

    def test_where_to_meet(self):
        variables = self.environment("-n", 1)
        self.assertEqual(variables["MASTER_ADDR"], "127.0.0.1")
        self.assertIn(int(variables["MASTER_PORT"]), range(1, 65536))
        self.assertEqual(variables["PACELINE_STORE"],
                         "unix:@paceline-" + variables["PACELINE_JOB_ID"])
        self.assertEqual(variables["PACELINE_TERMINAL"], "0")

    def test_tunables_are_the_users(self):
        cpus = len(os.sched_getaffinity(0))
        self.assertEqual(self.environment("-n", 1)["OMP_NUM_THREADS"], str(cpus))
        self.assertEqual(
            self.environment("-n", 1, env={"OMP_NUM_THREADS": "3"})["OMP_NUM_THREADS"], "3")
        self.assertEqual(
            self.environment("-n", 1, "-x", "OMP_NUM_THREADS=5",
                             env={"OMP_NUM_THREADS": "3"})["OMP_NUM_THREADS"], "5")
        self.assertEqual(
            self.environment("-n", 1, "-x", "MASTER_PORT=29500")["MASTER_PORT"], "29500")

    def test_exports(self):
        variables = self.environment("-x", "A=b=c", "-x", "HERE", "-x", "EMPTY=", "-x", "RANK=9",
                                     env={"HERE": "yes"})
        self.assertEqual([variables[name] for name in ("A", "HERE", "EMPTY", "RANK")],
                         ["b=c", "yes", "", "0"])
        _, _, error = self.run_job("-x", "SURELY_NOT_SET", "true")
        self.assertIn("SURELY_NOT_SET: the variable is not set here", error)

    def test_the_path_of_the_ranks_finds_the_program(self):
        self.assertEqual(self.run_job("-x", "PATH=/nowhere", "true")[0], 127)

    def test_working_directory(self):
        self.assertEqual(self.run_job("--wdir", "/proc", "pwd")[1], "/proc\n")

    def test_the_key_is_inherited_and_nowhere_else(self):
        script = """
import os, sys
key = os.pread(int(os.environ["PACELINE_JOB_KEY_FD"]), 4096, 0).decode().strip()
assert len(key) == 64, key
seen = "".join(os.environ.values()) + " ".join(sys.argv) + open("/proc/self/cmdline").read()
assert key not in seen and key.encode().hex() not in seen
os.pread(int(os.environ["PACELINE_FLIGHT_FD"]), 8, 0)
try:
    os.pwrite(int(os.environ["PACELINE_JOB_KEY_FD"]), b"x", 0)
    sys.exit("the key can be written")
except PermissionError:
    pass
print(key)
"""
        code, output, error = self.run_job("-n", 3, "--no-tag-output", "python3", "-c", script)
        self.assertEqual((code, error), (0, ""))
        self.assertEqual(len(set(output.split())), 1)

    def test_descriptors(self):
        read_end, write_end = os.pipe()
        _, output, _ = self.run_job("-n", 2, "--no-tag-output", "sh", "-c",
                                    "echo /proc/self/fd/*", pass_fds=(read_end, write_end))
        os.close(read_end)
        os.close(write_end)
        for line in output.splitlines():  # the last is the folder itself, being listed
            self.assertEqual(line.split()[:8], [f"/proc/self/fd/{i}" for i in range(8)])
            self.assertLessEqual(len(line.split()), 9)

    def test_closed_standard_descriptors(self):
        done = subprocess.run(["sh", "-c", f"exec '{PACELINE}' run -n 2 sh -c 'cat; exit 3' "
                               "<&- >&- 2>&-"], check=False, timeout=30)
        self.assertEqual(done.returncode, 3)

    def test_signals_are_as_after_login(self):
        ignore = {signal.SIGPIPE, signal.SIGINT, signal.SIGCHLD}

        def hostile():
            for number in ignore:
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})

        _, output, _ = self.run_job("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status",
                                    preexec_fn=hostile)
        self.assertEqual([int(line.split()[1], 16) for line in output.splitlines()], [0, 0])

    def test_input_is_rank_zeros(self):
        with Job("-n", 3, "sh", "-c", "echo got $(cat)", stdin=subprocess.PIPE) as job:
            output, _ = job.process.communicate(b"words", timeout=30)
        lines = sorted(line.split("] ")[1] for line in output.decode().splitlines())
        self.assertEqual(lines, ["got", "got", "got words"])

    def test_every_rank_is_a_group_in_one_session_without_a_terminal(self):
        script = """
import os
try:
    os.close(os.open("/dev/tty", os.O_RDONLY))
    terminal = True
except OSError:
    terminal = False
print(os.getpid(), os.getpgrp(), os.getsid(0), terminal)
"""
        _, output, _ = self.run_job("-n", 3, "--no-tag-output", "python3", "-c", script)
        ranks = [line.split() for line in output.splitlines()]
        self.assertEqual([pid for pid, _, _, _ in ranks], [group for _, group, _, _ in ranks])
        sessions = {session for _, _, session, _ in ranks}
        self.assertEqual(len(sessions), 1)
        self.assertNotIn(str(os.getsid(0)), sessions)
        self.assertEqual({terminal for _, _, _, terminal in ranks}, {"False"})

    def test_long_arguments(self):
        words = [str(i) * 1000 for i in range(150)]
        _, output, _ = self.run_job("-n", 1, "echo", *words)
        self.assertEqual(output.split(), words)

    def test_many_ranks(self):
        _, output, _ = self.run_job("-n", 32, "--no-tag-output", "sh", "-c", "echo $RANK")
        self.assertEqual(sorted(map(int, output.split())), list(range(32)))

    def test_the_store_answers(self):
        script = """
import os, socket
name = os.environ["PACELINE_STORE"].removeprefix("unix:@")
with socket.socket(socket.AF_UNIX) as client:
    client.connect("\\0" + name)
"""
        code, _, error = self.run_job("-n", 2, "python3", "-c", script)
        self.assertEqual((code, error), (0, ""))


class Command(unittest.TestCase):
    def call(self, *arguments):
        done = subprocess.run([PACELINE, *arguments], capture_output=True, text=True, check=False,
                              timeout=30)
        return done.returncode, done.stdout, done.stderr

    def test_help(self):
        for arguments in ((), ("--help",), ("run", "--help"), ("info", "--help")):
            code, output, error = self.call(*arguments)
            self.assertEqual((code, error), (0 if arguments else 125, ""))
            self.assertIn("usage: paceline", output)
            self.assertLess(max(map(len, output.splitlines())), 101)
            self.assertLess(len(output.splitlines()), 45)

    def test_version(self):
        self.assertRegex(self.call("--version")[1], r"^paceline \d+\.\d+\.\d+\n$")

    def test_info(self):
        code, output, _ = self.call("info")
        self.assertEqual(code, 0)
        for name in ("PACELINE_TIMEOUT_S", "PACELINE_STORE", "WORLD_SIZE"):
            self.assertIn(name, output)

    def test_unknown_command(self):
        code, _, error = self.call("rnu")
        self.assertEqual(code, 125)
        self.assertIn("unknown command 'rnu'; did you mean 'run'?", error)


if __name__ == "__main__":
    unittest.main()
