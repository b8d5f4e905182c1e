#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail on words that CONTRIBUTING.md bans from text and names, and suggest better ones.

usage: check_words.py PROJECT_DIRECTORY

Checks all text files that git tracks, except third-party code, licences and test data: comments,
messages, documentation and identifiers.  Words in identifiers count, too: `last_whom` contains
"whom".  COMMENT_WORDS are banned in the comments of C code only.
"""
import pathlib
import re
import sys

import project

PERSON = "'which', 'that', or the name of the thing"
WORDS = {
    "turnstile": "shared lock, such as Python's GIL",
    "scribe": "span writer",
    "transcript": "encoder",
    "transcribe": "encode",
    "whom": PERSON,
    "whoever": PERSON,
    "nobody": PERSON,
    "somebody": PERSON,
    "himself": PERSON,
    "neighbour": "other task, out-of-scope task",
    "deed": "operation",
    "handover": "handoff",
    "hand-over": "handoff",
    "handed work": "handoff",
    "boss": "dispatcher",
    "is told": "is recorded, is reported",
    "are told": "are recorded, are reported",
    "was told": "was recorded, was reported",
    "were told": "were recorded, were reported",
    "be told": "be recorded, be reported",
    "is seen": "is recorded, is read, is observed",
    "are seen": "are recorded, are read, are observed",
    "was seen": "was recorded, was read, was observed",
    "were seen": "were recorded, were read, were observed",
    "cannot be had": "fails, is missing",
    "kept recording": "saved recording",
    "not known": "unknown",
    "its like": "such as ...",
    "and the like": "such as ...",
    "as it were": "nothing",
    "so it is with": "a plain sentence",
    "of its own making": "a plain sentence",
    "called wrongly": "usage error",
    "behind --": "after --",
    "likewise */": "what is meant, again",
}
COMMENT_WORDS = {"who": PERSON}

# Correct uses, by a part of the line: users are persons, `nobody` is a user, hosts that exchange
# messages are a graph, and old captures contain names that have changed since.
ALLOWED = ["user who", "everybody who", "NOBODY", '"nobody"', "do_deed", "--no-neighbours"]
ALLOWED_IN = {"src/read/clock/align_graph.c": ["neighbour"], "tests/live/endings.py": ["nobody"],
              "tests/live/privilege.py": ["nobody"]}
SKIPPED = ("third_party/", "tests/data/", "LICENSES/", "LICENSE", "tools/check_words.py", "demo/demo.")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
C_SUFFIXES = {".c", ".h", ".cc"}


def matches(text, words, start=0):
    """Offset, word and better word; '_' separates words as a blank does, and a plural counts."""
    low = text.lower()
    for word, better in words.items():
        if word in low:  # much faster than the expression
            for match in re.finditer(rf"(?<![a-z]){re.escape(word)}s?(?![a-z])", low):
                yield start + match.start(), word, better


def complaints(name, text):
    found = list(matches(text, WORDS))
    if pathlib.PurePath(name).suffix in C_SUFFIXES:
        for comment in COMMENT.finditer(text):
            found += matches(comment[0], COMMENT_WORDS, comment.start())
    for offset, word, better in sorted(found):
        line = text[text.rfind("\n", 0, offset) + 1:].partition("\n")[0]
        if not any(allowed in line for allowed in ALLOWED + ALLOWED_IN.get(name, [])):
            yield f"{name}:{text.count(chr(10), 0, offset) + 1}: '{word}': write {better}"


def main():
    top = pathlib.Path(sys.argv[1])
    found = []
    for name in project.tracked(top):
        if name.startswith(SKIPPED):
            continue
        try:
            found += complaints(name, (top / name).read_text())
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue  # binary, or deleted
    print(*found, sep="\n")
    sys.exit(bool(found))


main()
