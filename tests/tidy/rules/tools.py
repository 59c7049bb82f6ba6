"""Rules that other programs judge: the compiler, clang-format, bash and ShellCheck."""

import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

from .tree import Finding

CLANG_FORMAT_VERSION = "14"  # Debian 12's; others lay out differently
COMPILE = ["g++", "-std=c++20", "-fsyntax-only", "-w", "-x", "c++-header"]


def check_headers_compile(tree):
    """Headers that no .cc includes first compile alone; tests/nightly/run dev tries the others."""
    command = COMPILE + [f"-I{folder}" for folder in tree.include_folders]
    # All headers would take four minutes on two cores.
    built = {file.includes[0][2] for file in tree.of_kind("c++")
             if file.suffix == ".cc" and file.includes}
    remembered = Remembered(tree)
    unknown = [header for header in tree.headers
               if header.path not in built and not remembered.knows(header)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, error in zip(unknown, pool.map(
                lambda header: run(command + [str(header.absolute)]), unknown)):
            if error:
                yield Finding(header.path, 1, f"does not compile alone:\n{error}")
            else:
                remembered.add(header)
    remembered.save()


class Remembered:
    """Headers that compiled before, by a digest of all project text that they include."""

    def __init__(self, tree):
        self.tree = tree
        self.path = tree.build / "tidy_headers"
        self.digests = set(self.path.read_text().split()) if self.path.is_file() else set()
        self.used = set()
        self.compiler = run(["g++", "--version"], anyway=True)
        self.by_path = {file.path: file for file in tree.headers}

    def knows(self, header):
        digest = self.digest(header)
        if digest in self.digests:
            self.used.add(digest)
        return digest in self.digests

    def add(self, header):
        self.used.add(self.digest(header))

    def save(self):
        if self.path.parent.is_dir():
            self.path.write_text("".join(f"{digest}\n" for digest in sorted(self.used)))

    def digest(self, header):
        texts = hashlib.sha256(f"{self.compiler}{COMPILE}".encode())
        for file in sorted(self.closure(header), key=lambda file: file.path):
            texts.update(f"{file.path}\0{file.text}\0".encode())
        return texts.hexdigest()

    def closure(self, header):
        reached, ahead = set(), [header]
        while ahead:
            file = ahead.pop()
            if file in reached:
                continue
            reached.add(file)
            for _, form, path in file.includes:
                table = self.by_path if form == '"' else self.tree.public_headers
                if path in table:
                    ahead.append(table[path])
        return reached


def check_format(tree):
    """C++ is laid out as clang-format 14 lays it out."""
    version = run(["clang-format", "--version"], anyway=True) \
        if shutil.which("clang-format") else ""
    if f"version {CLANG_FORMAT_VERSION}." not in version:
        tree.not_run.append(f"format: clang-format {CLANG_FORMAT_VERSION} is not installed")
        return
    command = ["clang-format", "--dry-run", "-Werror", "--ferror-limit=1"]
    errors = run(command + [str(file.absolute) for file in tree.of_kind("c++")])
    crooked = {}  # path -> first line
    for path, line in re.findall(r"^(.+?):(\d+):\d+: error", errors, re.MULTILINE):
        crooked.setdefault(path, int(line))
    for path, line in crooked.items():
        yield Finding(str(pathlib.Path(path).relative_to(tree.root)), line,
                      "not as clang-format lays it out (clang-format -i fixes it)")
    if errors and not crooked:
        yield Finding(".clang-format", 1, f"clang-format fails:\n{errors}")


def check_shell(tree):
    """Shell scripts parse, stop at errors (set -euo pipefail), and satisfy ShellCheck."""
    shellcheck = shutil.which("shellcheck")
    if not shellcheck:
        tree.notes.append("shell: ShellCheck is not installed; only bash -n ran")
    for file in tree.of_kind("shell"):
        if file.text.startswith("#!") and "set -euo pipefail" not in file.lines:
            yield Finding(file.path, 1, "set -euo pipefail is missing")
        commands = [["bash", "-n"]]
        if shellcheck:
            commands.append(["shellcheck", "-x", "-P", "SCRIPTDIR", "-f", "gcc"])
        for command in commands:
            error = run(command + [str(file.absolute)])
            if error:
                yield Finding(file.path, 1, f"{command[0]}:\n{error}")
                break


def run(command, anyway=False):
    """What `command` says if it fails, '' if it does not; what it says `anyway` on request."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    if anyway:
        return done.stdout
    return done.stdout.strip() or f"exit code {done.returncode}" if done.returncode else ""
