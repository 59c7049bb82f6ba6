"""The tree under inspection: its files by kind, their lines, and C++ with comments blanked."""

import functools
import pathlib
import re
import subprocess
from typing import NamedTuple

# C is held to the rules of C++.
SUFFIX_KINDS = {".cc": "c++", ".c": "c++", ".h": "c++", ".py": "python", ".sh": "shell",
                ".cmake": "cmake", ".proto": "proto"}
FIRST_LINE_KINDS = {r"#!.*\bbash$": "shell", r"#!.*\bpython3$": "python"}


class Finding(NamedTuple):
    path: str
    line: int
    text: str


class File:
    """A source file. `path` is relative to the root, with slashes."""

    def __init__(self, root, path):
        self.path = path
        self.absolute = root / path
        self.name = pathlib.PurePosixPath(path).name
        self.suffix = pathlib.PurePosixPath(path).suffix
        self.kind = self._kind()

    def _kind(self):
        if self.name == "CMakeLists.txt":
            return "cmake"
        if self.suffix:
            return SUFFIX_KINDS.get(self.suffix)
        with open(self.absolute, "rb") as file:
            first = file.readline(200).decode(errors="replace").rstrip()
        return next((kind for form, kind in FIRST_LINE_KINDS.items() if re.match(form, first)),
                    None)

    @functools.cached_property
    def text(self):
        return self.absolute.read_text(encoding="utf-8", errors="replace")

    @functools.cached_property
    def lines(self):
        return self.text.splitlines()

    @functools.cached_property
    def code(self):
        """C++ text, line for line, without comments and without what is inside of literals."""
        return CPP_NOISE.sub(_blank, self.text)

    @functools.cached_property
    def includes(self):
        """(line, form, path) of each #include; form is '<' or '"'."""
        found = []
        for number, line in enumerate(self.lines, 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if match:
                found.append((number, match[1], match[2]))
        return found


CPP_NOISE = re.compile(
    r'//(?:[^\n\\]|\\.|\\\n)*'
    r'|/\*.*?\*/'
    r'|\bu?8?[LU]?R"(?P<delimiter>[^()\s\\]*)\(.*?\)(?P=delimiter)"'
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+'", re.DOTALL)


def _blank(match):
    text = match[0]
    blanks = re.sub(r"[^\n]", " ", text)
    return blanks if text[0] == "/" else '"' + blanks[1:-1] + '"'


class Tree:
    """The files that git tracks or would track. `build` holds what was generated from them."""

    def __init__(self, root, build):
        self.root = root
        self.build = build
        self.not_run = []  # rules that could not run, and why
        self.notes = []  # parts of a rule that could not run, and why
        self.listing = list_files(root)
        self.files = [file for path in self.listing if (file := File(root, path)).kind]
        self.paths = {file.path for file in self.files}

    def of_kind(self, *kinds):
        return [file for file in self.files if file.kind in kinds]

    @functools.cached_property
    def headers(self):
        return [file for file in self.of_kind("c++") if file.suffix == ".h"]

    @functools.cached_property
    def public_headers(self):
        """'paceline/x.h' -> its File."""
        return {file.path.split("/include/", 1)[1]: file for file in self.headers
                if "/include/paceline/" in file.path}

    @functools.cached_property
    def include_folders(self):
        """The root, each folder's include, and what the build generated."""
        public = {file.path.split("/include/", 1)[0] + "/include"
                  for file in self.public_headers.values()}
        return [self.root, *(self.root / folder for folder in sorted(public)),
                self.build / "generated"]


def list_files(root):
    # safe.directory: the tree may belong to another user than the one who checks it.
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-co", "--exclude-standard",
         "-z"], check=True, capture_output=True, text=True).stdout
    paths = {path for path in listing.split("\0") if path}
    return sorted(path for path in paths if (root / path).is_file())
