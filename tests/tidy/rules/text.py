"""Rules on lines and files as text."""

import re

from .tree import Finding

MAX_COLUMNS = 100
MAX_FILE_LINES = 400
HEAD_LINES = 10  # where a longer file says why
REASON = f"Longer than {MAX_FILE_LINES} lines because"
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def check_columns(tree):
    """Lines of up to 100 columns."""
    for file in tree.files:
        for number, line in enumerate(file.lines, 1):
            if len(line) > MAX_COLUMNS:
                yield Finding(file.path, number, f"{len(line)} columns, at most {MAX_COLUMNS}")


def check_file_length(tree):
    """Files of up to 400 lines, unless their first ten say "Longer than 400 lines because …"."""
    for file in tree.files:
        excused = any(REASON in line for line in file.lines[:HEAD_LINES])
        if len(file.lines) > MAX_FILE_LINES and not excused:
            yield Finding(file.path, len(file.lines),
                          f'split it, or say near its top "{REASON} …"')


def check_unfinished(tree):
    """No markers of unfinished work."""
    for file in tree.files:
        for number, line in enumerate(file.lines, 1):
            match = UNFINISHED.search(line)
            if match:
                yield Finding(file.path, number, f"{match[0]}: finish it or open an issue")


def check_readme(tree):
    """A README.md in each folder that holds sources, down to the second level."""
    folders = {"/".join(folder[:2]) for file in tree.files
               if (folder := [part for part in file.path.split("/")[:-1]])
               and not folder[0].startswith(".")}
    folders |= {folder.split("/")[0] for folder in folders}
    for folder in sorted(folders):
        # Public headers belong to the folder above them.
        if not folder.endswith("/include") and not (tree.root / folder / "README.md").is_file():
            yield Finding(f"{folder}/README.md", 1, "missing: what lives here, what may not")
