"""Jobs whose stacks are asked for."""

import json
import os
import subprocess

from .processes import Mark
from .surroundings import BIN, PACELINE, SKIP, Unavailable
from .waits import until

CLIENT = BIN / "telemetry_stacks_of"
PATIENCE_S = 60


class StackJob:
    """A `paceline run` with the words of its programs. Its output is in `output` at its end."""

    def __init__(self, folder, *words, options=(), env=None):
        if not CLIENT.exists():
            raise Unavailable(f"there is no {CLIENT}; build it, or set PACELINE_BUILD")
        self.mark = Mark()
        self.env = {**os.environ, **self.mark.variables(), "XDG_RUNTIME_DIR": str(folder),
                    **(env or {})}
        self.process = subprocess.Popen(
            [PACELINE, "run", "--quiet", *options, *map(str, words)], env=self.env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.communicate(timeout=PATIENCE_S)
        finally:
            self.mark.kill()

    def id(self):
        listed = subprocess.run([PACELINE, "list", "--json"], env=self.env, capture_output=True,
                                text=True, timeout=PATIENCE_S, check=False)
        jobs = json.loads(listed.stdout or "[]")
        return jobs[0]["id"] if jobs else None

    def call(self, *ranks):
        """The exit code, output and errors of the client."""
        job = until(self.id, "an entry of the job")
        done = subprocess.run([CLIENT, job, *map(str, ranks)], env=self.env, capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)
        if done.returncode == SKIP:
            raise Unavailable(done.stderr.strip())
        return done.returncode, done.stdout, done.stderr

    def snapshot(self, *ranks):
        """The job with the stacks of the ranks; None as long as it has no service."""
        code, output, _ = self.call(*ranks)
        return json.loads(output) if code == 0 else None

    def ranks(self):
        """Its ranks once all run, or have ended."""
        def all_run():
            snapshot = self.snapshot()
            ranks = snapshot["ranks"] if snapshot else []
            return ranks if ranks and all(rank["pid"] for rank in ranks) else None
        return until(all_run, "all ranks", PATIENCE_S)

    def processes(self, *ranks):
        """The processes of these ranks, by rank."""
        snapshot = self.snapshot(*ranks)
        if snapshot is None:
            raise AssertionError("the job does not answer")
        return {rank: snapshot["ranks"][rank]["processes"] for rank in ranks}

    def end(self):
        """Exit code and output, once it has ended."""
        output, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, output, errors
