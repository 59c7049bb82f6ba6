"""The text that people read, cut out of the files of a Tree: Markdown, comments of public headers,
comments of examples, string literals of C++, help texts of scripts."""

import ast
import re
from typing import NamedTuple

CPP_FOLDERS = ("comm/", "telemetry/", "topology/", "collectives/", "launcher/", "examples/")
SCRIPT_FOLDERS = ("tests/", "examples/", "cmake/", ".ci/")
MIN_MESSAGE_WORDS = 4  # a shorter literal is a key, a name or a part of a line


class Block(NamedTuple):
    """A paragraph, a table cell, a comment or a message. Its first line stands at `line` of the
    file, and each newline in `text` is one of the file."""
    path: str
    line: int
    text: str
    is_heading: bool = False
    is_cell: bool = False
    is_fragment: bool = False  # begins or ends in the middle of a sentence


def blocks(tree):
    """All of them, file by file."""
    for path in markdown_paths(tree):
        yield from markdown_blocks(path, (tree.root / path).read_text(encoding="utf-8"))
    for file in tree.files:
        if file.kind == "c++" and file.path.startswith(CPP_FOLDERS):
            if file in tree.public_headers.values() or file.path.startswith("examples/"):
                yield from comment_blocks(file)
            yield from literal_blocks(file)
        elif file.kind == "python" and file.path.startswith(SCRIPT_FOLDERS):
            yield from python_blocks(file)
        elif file.kind == "shell" and file.path.startswith(SCRIPT_FOLDERS):
            yield from shell_blocks(file)


def markdown_paths(tree):
    return [path for path in tree.listing
            if path in ("CONTRIBUTING.md", "CHANGELOG.md") or re.fullmatch(r"docs/[^/]*\.md", path)
            or path.rsplit("/", 1)[-1] == "README.md"]


def markdown_blocks(path, text):
    """Paragraphs, list items, headings and table cells; neither code blocks nor pictures."""
    paragraph, first, fenced, lines = [], 0, False, text.splitlines()
    for number, line in enumerate([*lines, ""], 1):
        fence = re.match(r"\s*(?:```|~~~)", line)
        item = re.match(r"\s*(?:[-*+]|\d+\.)\s+(?=\S)", line)
        heading = re.match(r"#+\s+", line)
        is_break = (not line.strip() or fence or fenced or item or heading
                    or line.lstrip().startswith(("|", "![", "<!--")) or re.match(r" {4}\S", line)
                    and not paragraph)
        if is_break and paragraph:
            yield Block(path, first, "\n".join(paragraph))
            paragraph = []
        fenced = fenced != bool(fence)
        if heading and not fenced:
            yield Block(path, number, line[heading.end():], is_heading=True)
        elif line.startswith("|") and not fenced:
            yield from cell_blocks(path, number, line, lines[number:number + 1])
        elif item and not fenced or not is_break:
            first = first if paragraph else number
            paragraph.append(line[item.end():] if item else line.strip())


def cell_blocks(path, number, line, following):
    if re.fullmatch(r"[|\s:-]+", line):
        return
    is_heading = bool(following) and re.fullmatch(r"[|\s:-]+", following[0]) is not None
    for cell in re.split(r"(?<!\\)\|(?=(?:[^`]*`[^`]*`)*[^`]*$)", line.strip())[1:-1]:
        if cell.strip():
            yield Block(path, number, cell.strip(), is_heading=is_heading, is_cell=True)


COMMENT = re.compile(r"(?:^|\s)(?P<mark>///<|///|//)(?: (?P<text>.*))?$")


def comment_blocks(file):
    """The paragraphs of a header's comments, without the code of examples, which is indented."""
    paragraph, first, mark = [], 0, None
    for number, line in enumerate([*as_line_comments(file.text), ""], 1):
        match = COMMENT.search(line)
        text = (match["text"] or "") if match else ""
        is_code = text.startswith("   ") or text.startswith("  ") and paragraph[-1:] in (
            [], ["Example:"])
        ends = (not text.strip() or is_code or match["mark"] != mark
                or line[:match.start("mark")].strip())
        if ends and paragraph:
            yield Block(file.path, first, "\n".join(paragraph))
            paragraph = []
        if text.strip() and not is_code:
            first, mark = (first, mark) if paragraph else (number, match["mark"])
            paragraph.append(text.strip())


def as_line_comments(text):
    """The lines of `text` with /* … */ written as //, line for line."""
    def rewrite(match):
        inner = re.sub(r"\n[ ]\*(?=[ \n]|$)", "\n//", match[1])
        return "//" + inner.rstrip()
    code = re.sub(r"/\*(.*?)\*/", rewrite, text, flags=re.DOTALL)
    return [line.rstrip() for line in code.splitlines()]


STRING = r'(?:\bu8)?"(?:[^"\\\n]|\\.)*"'
RAW = r'\bR"(?P<delimiter>[^()\s\\]*)\(.*?\)(?P=delimiter)"'
LITERALS = re.compile(rf"//[^\n]*|/\*.*?\*/|(?P<raw>{RAW})|'(?:[^'\\\n]|\\.)+'"
                      rf"|(?P<plain>{STRING}(?:\s*{STRING})*)", re.DOTALL)
ESCAPES = {"n": "\n", "t": " ", '"': '"', "'": "'", "\\": "\\"}


def literal_blocks(file):
    """String literals that are sentences or parts of some; adjacent ones joined."""
    for match in LITERALS.finditer(file.text):
        if not match["plain"] and not match["raw"]:
            continue
        before = file.text[:match.start()].rstrip()
        if before.endswith(("extern", "#include")) or re.search(r"static_assert\([^;]*$", before):
            continue
        line = file.text.count("\n", 0, match.start()) + 1
        after = file.text[match.end():match.end() + 40].lstrip()
        cut = before.endswith(("+", "<<")) or after.startswith(("+", "<<"))
        yield from message_blocks(file.path, line, plain_text(match), cut)


def plain_text(match):
    if match["raw"]:
        return re.sub(r'^R"[^(]*\(|\)[^)]*"$', "", match["raw"])
    pieces = re.findall(STRING, match["plain"])
    joined = "".join(re.sub(r'^(?:u8)?"|"$', "", piece) for piece in pieces)
    return re.sub(r"\\(.)", lambda escape: ESCAPES.get(escape[1], " "), joined)


def message_blocks(path, line, text, is_fragment):
    """A text for people as paragraphs: an empty line or an indented one begins another."""
    for part in re.split(r"\n\s*\n|\n(?=\s)", re.sub(r"(?m)^usage:.*$", "", text)):
        if len(re.findall(r"[A-Za-z]{2,}", part)) >= MIN_MESSAGE_WORDS:
            flat = re.sub(r"\s+", " ", part).strip()
            yield Block(path, line, flat, is_fragment=is_fragment or part[0] in " :;,.()")


# Functions whose arguments are shown, by their last names: sys.exit() is exit.
SAID_BY = ("print", "say", "exit", "error", "Finding")


def python_blocks(file):
    """Texts that argparse shows, the module's docstring, exceptions, and what SAID_BY write."""
    parsed = ast.parse(file.text)
    docstring = ast.get_docstring(parsed)
    if docstring:
        yield from message_blocks(file.path, 1, docstring, False)
    for node in ast.walk(parsed):
        if isinstance(node, ast.keyword) and node.arg in ("help", "description", "epilog") and (
                isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
            yield from message_blocks(file.path, node.value.lineno, node.value.value, False)
        call = node.exc if isinstance(node, ast.Raise) else node
        if isinstance(call, ast.Call) and (call is not node or name_of(call.func) in SAID_BY):
            for argument in call.args:
                yield from message_blocks(file.path, argument.lineno, shown_text(argument), False)


def name_of(function):
    """The last name of the function that is called."""
    return getattr(function, "attr", None) or getattr(function, "id", None)


def shown_text(node):
    """The text of a string literal or a sum, with X for each value; empty for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(shown_text(part) or "X" for part in node.values)
    if isinstance(node, ast.BinOp):
        return "".join(shown_text(part) or "X" for part in (node.left, node.right))
    return ""


SHELL_TEXT = re.compile(
    r"^\s*(?:[^#\n]*[;&|{]\s*)?(?:echo|printf|fail|die|step)\s+(?:'(?P<single>[^']*)'"
    r'|"(?P<double>(?:[^"\\]|\\.)*)")'
    r"|<<-?\s*'?(?P<end>[A-Z]+)'?[^\n]*\n(?P<here>.*?)\n\s*(?P=end)$", re.MULTILINE | re.DOTALL)


def shell_blocks(file):
    """Texts that a script writes by echo, printf or a here-document that is not a program."""
    for match in SHELL_TEXT.finditer(file.text):
        before = file.text[:match.start("here")].rsplit("\n", 2)[-2] if match["here"] else ""
        if match["here"] and not re.search(r"\bcat\b[^>]*$", before.split("<<")[0]):
            continue
        text = match["single"] or match["double"] or match["here"] or ""
        line = file.text.count("\n", 0, match.start()) + 1
        yield from message_blocks(file.path, line, text, False)
