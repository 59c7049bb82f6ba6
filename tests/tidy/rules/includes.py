"""Include hygiene: one way to name each header, and every .cc proves its own."""

import pathlib

from .tree import Finding


def check_paths(tree):
    """Project includes exist and are named "folder/file.h" from the root, or <paceline/file.h>."""
    for file in tree.of_kind("c++"):
        for line, form, path in file.includes:
            problem = problem_with(tree, form, path)
            if problem:
                yield Finding(file.path, line, problem)


def problem_with(tree, form, path):
    if form == "<":
        if path.startswith("paceline/") and path not in tree.public_headers:
            return f"there is no public header <{path}>"
        return None
    if "/include/paceline/" in path or path.startswith("paceline/"):
        return f'"{path}" is public: include it as <paceline/…>'
    if path in tree.paths or generated_from(path) in tree.paths:
        return None
    return f'there is no "{path}" under the root'


def generated_from(path):
    for suffix in (".grpc.pb.h", ".pb.h"):
        if path.endswith(suffix):
            return path.removesuffix(suffix) + ".proto"
    return None


def check_own_first(tree):
    """x.cc includes its own x.h before all else, <paceline/x.h> before all else of the project."""
    for file in tree.of_kind("c++"):
        own = own_header(tree, file) if file.suffix == ".cc" else None
        if own is None:
            continue
        # clang-format sorts <paceline/x.h> behind the standard library's headers.
        rivals = [(line, form, path) for line, form, path in file.includes
                  if own[0] == '"' or form == '"' or path.startswith("paceline/")]
        if not rivals or rivals[0][1:] != own:
            yield Finding(file.path, rivals[0][0] if rivals else 1,
                          f"{own[1]} should be included first")


def own_header(tree, file):
    """(form, path) of the include that `file` implements, None where it implements none."""
    beside = file.path.removesuffix(".cc") + ".h"
    if beside in tree.paths:
        return ('"', beside)
    public = f"paceline/{pathlib.PurePosixPath(beside).name}"
    header = tree.public_headers.get(public)
    if header and header.path == f"{pathlib.PurePosixPath(beside).parent}/include/{public}":
        return ("<", public)
    return None


def check_pragma_once(tree):
    """Every header says #pragma once before any other code."""
    for file in tree.headers:
        code = [line.strip() for line in file.code.splitlines()]
        first = next((line for line in code if line), "")
        if first != "#pragma once":
            yield Finding(file.path, 1, "#pragma once should come before any other code")
