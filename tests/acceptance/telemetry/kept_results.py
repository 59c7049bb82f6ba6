"""Results of a long test in a file, so that an interrupted run goes on where it was."""

import hashlib
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from support.surroundings import BIN  # noqa: E402


def build_digest(*programs):
    """One for the same bytes of paceline, its modules, libpaceline and these programs."""
    digest = hashlib.sha256()
    files = {file.resolve() for folder in (BIN, BIN.parent / "lib") for file in
             (folder.iterdir() if folder.exists() else ())
             if file.name == "paceline" or "paceline" in file.name and ".so" in file.name}
    for file in sorted(files | {program.resolve() for program in programs}):
        digest.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


class KeptResults:
    """A line of JSON for what the results are of, then one for each result."""

    def __init__(self, path, subject):
        """`path`: None keeps nothing. `subject`: names and values; a file of others is refused."""
        self.path, self.results = path, {}
        if path is None:
            return
        lines = path.read_text().splitlines() if path.exists() else []
        if not lines:
            path.write_text(json.dumps(subject) + "\n")
            return
        for name, value in subject.items():
            if (there := json.loads(lines[0]).get(name)) != value:
                raise AssertionError(f"{path} has results of {name} {there}, and this is {name} "
                                     f"{value}; remove the file, or use another one")
        whole = lines[:1]
        for line in lines[1:]:
            try:
                one = json.loads(line)
            except ValueError:  # it was interrupted there
                continue
            self.results[one["name"]] = one["result"]
            whole.append(line)
        path.write_text("".join(f"{line}\n" for line in whole))

    def result(self, name, function):
        """The kept result, else that of the function, which is kept."""
        if name not in self.results:
            self.results[name] = function()
            if self.path is not None:
                with open(self.path, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"name": name, "result": self.results[name]}) + "\n")
        return self.results[name]
