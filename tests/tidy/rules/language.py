"""Plain technical English in what people read. The patterns stand in tests/tidy/language.txt."""

import functools
import pathlib
import re
from typing import NamedTuple

from . import prose
from .tree import Finding

WORD_LIST = pathlib.Path(__file__).resolve().parents[1] / "language.txt"
MAX_WORDS = 30
MAX_CELL = 200
PERSON_WITHIN = 5  # words before "who"


class Pattern(NamedTuple):
    kind: str  # "begin": at the beginning of a sentence; "anywhere"
    form: re.Pattern
    instead: str
    why: str


class WordList(NamedTuple):
    patterns: list
    persons: frozenset


@functools.cache
def word_list():
    patterns, persons = [], set()
    for number, line in enumerate(WORD_LIST.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, _, rest = line.partition(": ")
        if key == "persons":
            persons |= set(rest.split())
        elif key in ("begin", "anywhere"):
            form, instead, why = re.split(r"\s+(?:=>|::)\s+", rest.strip())
            patterns.append(Pattern(key, re.compile(form, re.IGNORECASE), instead, why))
        else:
            raise ValueError(f"{WORD_LIST.name}:{number}: no such key: {key}")
    return WordList(patterns, frozenset(persons))


def check(tree):
    """Plain technical English in READMEs, docs, public headers, help texts and messages."""
    for block in prose.blocks(tree):
        for offset, text in problems(block):
            yield Finding(block.path, block.line + block.text.count("\n", 0, offset), text)


def problems(block):
    """(offset in the block's text, what is wrong)."""
    if block.is_cell and len(shown(block.text)) > MAX_CELL:
        yield 0, f"a table cell of {len(shown(block.text))} characters, at most {MAX_CELL}"
    text = without_code(block.text)
    at = 0
    for sentence in SENTENCE_END.split(text):
        offset = text.index(sentence, at)
        at = offset + len(sentence)
        for inner, problem in sentence_problems(sentence, block, offset == 0):
            yield offset + inner, problem


# A sentence ends before a capital, a digit or code, but not after "e.g." or "et al."; messages and
# definitions also begin with a small letter.
SENTENCE_END = re.compile(r'(?<![.\s]\w[.])(?<!\bal[.])(?<!\bvs[.])(?<=[.!?])["”)*_]*\s+'
                          r'(?=["“(*_]*[A-Z0-9])'
                          r'|(?<=\w\w\w[.!?])(?<!\betc[.])["”)*_]*\s+(?=\S)')


def without_code(text):
    """`text` with code spans and addresses as one word each, a list of code as one word, and links
    as what they show. Newlines stay where they are."""
    def word(match):
        return "CODE" + "\n" * match[0].count("\n")
    text = re.sub(r"\[([^\]]*)\]\([^)\s]*\)", r"\1", text)
    text = re.sub(r"``.+?``|`[^`]+`", word, text, flags=re.DOTALL)
    text = re.sub(r"<?https?://\S+", "URL", text)
    text = re.sub(r"(?<=[\w>])\([^()\s]*\)", "", text)  # close()
    return re.sub(r"CODE(?:,\s+(?:and\s+)?CODE|\s+(?:and|or)\s+CODE)+", word, text)


def shown(text):
    return re.sub(r"\[([^\]]*)\]\([^)\s]*\)", r"\1", text)


def sentence_problems(sentence, block, is_first):
    is_question = sentence.rstrip().endswith("?")
    for pattern in word_list().patterns:
        if pattern.kind == "begin":
            if block.is_heading or is_question or block.is_fragment and is_first:
                continue
            match = re.match(r"[\W_]*", sentence)
            match = pattern.form.match(sentence, match.end())
        else:
            match = pattern.form.search(sentence)
        if match:
            yield match.start(), f'"{match[0].strip()}": {pattern.instead} ({pattern.why})'
    if not block.is_heading:
        yield from who_without_person(sentence)
    words = [word for word in sentence.split() if re.search(r"\w", word)]
    if len(words) > MAX_WORDS:
        yield 0, f"a sentence of {len(words)} words, at most {MAX_WORDS}: one idea each"
    if sentence.count(";") >= 2:
        yield 0, f"{sentence.count(';')} semicolons in one sentence: one idea each"
    nested = re.search(r"(?:^|\s)\([^()]*\s\(", sentence)
    if nested:
        yield nested.start(), "a parenthesis inside a parenthesis"


def who_without_person(sentence):
    for match in re.finditer(r"\bwhom?\b", sentence, re.IGNORECASE):
        before = re.findall(r"[\w-]+", sentence[:match.start()].lower())[-PERSON_WITHIN:]
        if not word_list().persons & set(before):
            yield match.start(), (f'"{match[0]}" without a person: name the rank, process or host '
                                  "that is meant (persons stand in tests/tidy/language.txt)")
