"""Files that the README.md of a folder names."""

import re

from .tree import Finding

# `file.h`, `folder/file.py`, `folder/`. Names in capitals stand for any name, and build/ is made.
NAMED = re.compile(r"`((?:[\w.-]+/)*(?:[\w.-]+\.(?:h|cc|py)|[\w.-]+/))`")
STANDS_FOR_ANY = re.compile(r"(?:^|/)[A-Z_]+(?:\.\w+|/)$|^build/")


def check_files(tree):
    """Files and folders that a README.md names in backticks exist, beside it or below the root."""
    for path in tree.listing:
        if path.rsplit("/", 1)[-1] != "README.md":
            continue
        folder = (tree.root / path).parent
        lines = (tree.root / path).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            for name in NAMED.findall(line):
                is_of_user = path == "README.md" and "/" not in name  # a trainer's own train.cc
                if not (is_of_user or STANDS_FOR_ANY.search(name) or name in tree.public_headers
                        or (folder / name).exists() or (tree.root / name).exists()):
                    yield Finding(path, number, f"`{name}` is neither beside this file nor below "
                                                "the root")
