"""Length of functions, from the first line of the head to the closing brace.

C++ is not parsed: its braces are followed, and the text before an opening brace (the head) tells
what it opens. A brace that cannot be told counts as part of what is around it, so the rule rather
misses a function than invents one.
"""

import ast
import re
from typing import NamedTuple

from .tree import Finding

MAX_LINES = 60
ACCESS_LABELS = re.compile(r"\s*(?:(?:public|protected|private)\s*:\s*)*")


class Function(NamedTuple):
    name: str
    first: int
    last: int


def check(tree):
    """Functions of up to 60 lines (C++, Python, shell)."""
    for file in tree.files:
        find = FINDERS.get(file.kind)
        for function in find(file) if find else ():
            length = function.last - function.first + 1
            if length > MAX_LINES:
                yield Finding(file.path, function.first,
                              f"{function.name} has {length} lines, at most {MAX_LINES}")


def cpp_functions(file):
    code = without_preprocessor(file.code)
    enclosing = []  # of each open brace: what it opened, and the head before it
    head_begin = 0
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        if match[0] == "{":
            opened = opens(code[head_begin:at], [kind for kind, _ in enclosing])
            enclosing.append((opened, head_begin))
            if opened != "value":
                head_begin = at + 1
        elif match[0] == "}" and enclosing:
            opened, begin = enclosing.pop()
            if opened == "function":
                yield function_of(code, begin, at)
            if opened != "value":
                head_begin = at + 1
        elif match[0] == ";" and "value" not in [kind for kind, _ in enclosing]:
            head_begin = at + 1


def without_preprocessor(code):
    """Macros may hold unbalanced braces, so directives become blank lines."""
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*",
                  lambda match: re.sub(r"[^\n]", " ", match[0]), code, flags=re.MULTILINE)


def opens(head, enclosing):
    """'scope', 'function', 'block' (inside of a function) or 'value' (a braced initialiser)."""
    if "function" in enclosing:
        return "block"
    if "value" in enclosing:
        return "value"
    bare = without_groups(head)
    if re.search(r"\b(?:namespace|class|struct|union|enum)\b", bare) or \
            re.fullmatch(r'extern\s*"\s*"', bare):
        return "scope"
    in_member_initialisers = re.search(r"\)[^():]*:(?!:)", bare.replace("()", ")"))
    if in_member_initialisers and re.search(r"[\w>]$", bare):
        return "value"
    if "()" not in bare or re.search(r"(?<!operator)(?<![=!<>])=\s*(?:requires\b.*|[\w:<> ]*)$",
                                     bare.replace("operator=", "operator")):
        return "value"
    return "function"


def without_groups(head):
    """`head` with its (…) emptied; without access labels, template<…> and [[…]]."""
    head = head[ACCESS_LABELS.match(head).end():]
    head = re.sub(r"\[\[.*?\]\]", "", head, flags=re.DOTALL)
    previous = None
    while previous != head:
        previous = head
        head = re.sub(r"\((?:[^()]|\(\))+\)", "()", head)
    while (match := re.search(r"\btemplate\s*<", head)) is not None:
        depth, end = 1, match.end()
        while depth and end < len(head):
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
        head = head[:match.start()] + head[end:]
    return head.strip()


def function_of(code, begin, end):
    text = code[begin:end]
    first = code.count("\n", 0, begin + ACCESS_LABELS.match(text).end()) + 1
    match = re.search(r"\b(?!requires\b)(?:operator\W+?|[\w~:]+)(?=\s*\(\))",
                      without_groups(text))
    return Function(match[0] if match else "function", first, code.count("\n", 0, end) + 1)


def python_functions(file):
    for node in ast.walk(ast.parse(file.text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Function(node.name, node.lineno, node.end_lineno)


def shell_functions(file):
    name, first = None, 0
    for number, line in enumerate(file.lines, 1):
        match = re.match(r"([\w-]+)\s*\(\)\s*[{(]", line)
        if match:
            name, first = match[1], number
        if name and re.match(r"[})]\s*$", line):
            yield Function(name, first, number)
            name = None


FINDERS = {"c++": cpp_functions, "python": python_functions, "shell": shell_functions}
