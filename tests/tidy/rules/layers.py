"""The layers of the design: a folder includes only what stands above it in the table."""

from .tree import Finding

# From the bottom up. Folders of one row do not include each other.
LAYERS = [
    ["comm/base"],
    ["telemetry"],
    ["comm"],
    ["comm/transport"],  # implementations; their interface is comm/transport.h
    ["topology"],
    ["collectives"],
    ["ps", "elastic"],
    ["launcher", "bindings"],
    ["examples"],
    ["tests"],
]
LEVELS = {folder: level for level, row in enumerate(LAYERS) for folder in row}


def folder_of(path):
    """The folder of the table that holds `path`, the deepest one; None where none does."""
    parts = path.split("/")[:-1]
    while parts and "/".join(parts) not in LEVELS:
        parts.pop()
    return "/".join(parts) or None


def check(tree):
    """A folder includes only itself and folders below it (table in rules/layers.py)."""
    for file in tree.of_kind("c++"):
        folder = folder_of(file.path)
        if folder is None:
            yield Finding(file.path, 1, "lies in no layer; the table is in rules/layers.py")
            continue
        for line, form, included in file.includes:
            if form == "<" and included in tree.public_headers:
                included = tree.public_headers[included].path
            other = folder_of(included)
            if other is None or other == folder or LEVELS[other] < LEVELS[folder]:
                continue
            yield Finding(file.path, line, f"{folder} may not include {other} ({included})")
