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
    # The layers of the launcher. Its parts that run a job form one layer without cycles.
    ["launcher/system"],
    ["launcher"],
    ["launcher/tools"],
    ["launcher/cli"],
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
        for line, included in included_paths(tree, file):
            other = folder_of(included)
            if other is None or other == folder or LEVELS[other] < LEVELS[folder]:
                continue
            yield Finding(file.path, line, f"{folder} may not include {other} ({included})")


def check_cycles(tree):
    """No two folders, subfolders included, reach each other through their includes."""
    edges = {}  # folder -> {folder that it includes: (path, line) of the first such include}
    for file in tree.of_kind("c++"):
        folder = own_folder(file.path)
        for line, included in included_paths(tree, file):
            other = own_folder(included)
            if other != folder:
                edges.setdefault(folder, {}).setdefault(other, (file.path, line))
    for cycle in cycles(edges):
        around = [edges[folder][other] for folder, other in zip(cycle, [*cycle[1:], cycle[0]])]
        places = ", ".join(f"{path}:{line}" for path, line in around)
        yield Finding(*around[-1], f"{' -> '.join([*cycle, cycle[0]])} is a cycle: {places}")


def included_paths(tree, file):
    """(line, path) of each file of the project that `file` includes."""
    for line, form, included in file.includes:
        if form == "<" and included in tree.public_headers:
            yield line, tree.public_headers[included].path
        elif form == '"':
            yield line, included


def own_folder(path):
    """The folder of a file. Public headers have a folder of their own, the lowest of their part."""
    return path.rpartition("/")[0]


def cycles(edges):
    """One shortest cycle for each set of folders that reach each other."""
    left = dict(edges)
    while left:
        start = min(left)
        found = shortest_way(left, start, start)
        if found:
            yield found
            for folder in found:
                left.pop(folder, None)
        else:
            left.pop(start)


def shortest_way(edges, start, goal):
    """The folders on a shortest path from `start` to `goal`, without `goal`; None: no path."""
    ways = [[start]]
    seen = set()
    for way in ways:
        for other in sorted(edges.get(way[-1], ())):
            if other == goal:
                return way
            if other not in seen:
                seen.add(other)
                ways.append([*way, other])
    return None
