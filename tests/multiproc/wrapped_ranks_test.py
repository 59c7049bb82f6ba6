"""Ranks started by programs that close descriptors get the job's key; their children do not."""

import os
import tempfile
import unittest

from launched import BIN, LauncherTest

RANK = BIN / "multiproc_early_rank"
HOSTS = ("-H", "a:1,b:1", "--launch-agent", "env X={host}")
ON_HOSTS = {"PACELINE_NET": "lo"}

RUNS = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
CLOSES = """
import os, sys
os.closerange(3, os.sysconf("SC_OPEN_MAX"))
os.execv(sys.argv[1], sys.argv[1:])
"""
# Replaces the launcher's descriptors by files of its own. One of them has the size of a flight
# ring.
REPLACES = """
import os, sys
size = os.fstat(4).st_size
for descriptor, length in ((3, 100), (4, size)):
    file = os.memfd_create("own")
    os.ftruncate(file, length)
    os.dup2(file, descriptor)
    os.close(file)
os.execv(sys.argv[1], sys.argv[1:])
"""
CLEARS = """
import os, sys
os.closerange(3, os.sysconf("SC_OPEN_MAX"))
os.chdir("/")
keep = {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"}
left = {name: value for name, value in os.environ.items()
        if name in keep or name.startswith("PACELINE_")}
os.execve(sys.argv[1], sys.argv[1:], left)
"""
NO_KEY = """python3 -c '
import os
for name in os.listdir("/proc/self/fd"):
    try:
        link = os.readlink("/proc/self/fd/" + name)
    except OSError:
        continue
    assert "paceline-key" not in link, link
'"""


class WrappedRanks(LauncherTest):
    def assert_runs(self, *words, options=("-n", 2), env=None):
        code, _, error = self.run_job(*options, "--", *words, env=env)
        self.assertEqual(code, 0, error)
        return error

    def test_wrappers(self):
        for name, wrapper in (("runs", RUNS), ("closes", CLOSES), ("replaces", REPLACES),
                              ("clears", CLEARS)):
            with self.subTest(wrapper=name):
                self.assert_runs("python3", "-c", wrapper, RANK, "join")

    def test_wrappers_of_wrappers(self):
        self.assert_runs("python3", "-c", RUNS, "/usr/bin/env", "python3", "-c", CLEARS, RANK,
                         "join")

    def test_over_tcp_and_on_two_hosts(self):
        self.assert_runs("python3", "-c", CLOSES, RANK, "join", env={"PACELINE_BACKEND": "tcp"})
        self.assert_runs("python3", "-c", RUNS, RANK, "join", options=("-n", 2, *HOSTS),
                         env=ON_HOSTS)

    def test_children_of_a_rank_that_has_joined_do_not_inherit_the_key(self):
        self.assert_runs(RANK, "join", NO_KEY)
        self.assert_runs(RANK, "join", NO_KEY, options=("-n", 1))

    def test_where_there_is_no_key_the_message_says_why_and_what_to_do(self):
        code, _, error = self.run_job("-n", 1, "--", "env", "-u", "PACELINE_JOB_KEY_FILE",
                                      "WORLD_SIZE=2", "python3", "-c", CLOSES, RANK, "join")
        self.assertEqual(code, 1)
        self.assertIn("a program between `paceline run` and this one closed or replaced it",
                      error)
        self.assertIn("keep descriptor 3 open", error)

    @unittest.skipIf(os.geteuid() != 0, "only root can give a file away")
    def test_a_key_file_of_another_user_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "key")
            with open(path, "w", encoding="ascii") as file:
                file.write("0" * 64)
            os.chmod(path, 0o600)
            os.chown(path, 65534, 65534)
            code, _, error = self.run_job(
                "-n", 1, "--", "env", "-u", "PACELINE_JOB_KEY_FD",
                f"PACELINE_JOB_KEY_FILE={path}", "WORLD_SIZE=2", RANK, "join")
        self.assertEqual(code, 1)
        self.assertIn(f"{path} belongs to user 65534, and this process runs as user 0", error)


if __name__ == "__main__":
    unittest.main()
