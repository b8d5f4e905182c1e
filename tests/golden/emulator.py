# SPDX-License-Identifier: Apache-2.0
"""A terminal for tests: as much of one as sonde uses, and strict about the rest.

A sequence that is not listed here raises an error: a name of a recorded program that reaches the
terminal as an escape sequence fails the test.
"""
import re
import unicodedata

SEQUENCE = re.compile(r"\x1b\[([?]?)([0-9;]*)([A-Za-z])")
BEGINNING = re.compile(r"\x1b(\[[?]?[0-9;]*)?")
MODES = {"7": "wrap", "25": "cursor", "1049": "alternate", "2026": "batch"}


def width(char):
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


class Terminal:
    def __init__(self, columns, rows):
        self.modes = {"wrap": True, "cursor": True, "alternate": False, "batch": False}
        self.resize(columns, rows)

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.looks = [[""] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.look = "0"
        self.rest = ""  # beginning of a sequence

    def feed(self, text):
        text, self.rest, at = self.rest + text, "", 0
        while at < len(text):
            if text[at] == "\x1b":
                match = SEQUENCE.match(text, at)
                if not match and BEGINNING.fullmatch(text, at):
                    self.rest = text[at:]
                    return
                if not match:
                    raise ValueError(f"unexpected sequence {text[at:at + 12]!r}")
                self.sequence(*match.groups())
                at = match.end()
                continue
            self.put(text[at])
            at += 1

    def sequence(self, private, parameters, letter):
        numbers = [int(n or 0) for n in parameters.split(";")]
        if private:
            for number in parameters.split(";"):
                self.modes[MODES[number]] = {"h": True, "l": False}[letter]
        elif letter == "H":
            self.row, self.column = (numbers[0] or 1) - 1, (numbers[1] if len(numbers) > 1 else 1) - 1
        elif letter == "G":
            self.column = (numbers[0] or 1) - 1
        elif letter == "K" and self.row < self.rows:
            self.cells[self.row][self.column:] = [" "] * (self.columns - self.column)
            self.looks[self.row][self.column:] = [""] * (self.columns - self.column)
        elif letter == "K":
            pass
        elif letter == "J":
            for row in range(self.rows):
                self.cells[row] = [" "] * self.columns
                self.looks[row] = [""] * self.columns
        elif letter == "m":
            self.look = parameters
        else:
            raise ValueError(f"unexpected sequence {private}{parameters}{letter}")

    def put(self, char):
        if char in "\r\n" and not self.modes["alternate"]:
            self.column = 0
            self.row = min(self.row + (char == "\n"), self.rows - 1)
            return
        if ord(char) < 32 or 0x7f <= ord(char) < 0xa0:
            raise ValueError(f"control character {char!r}")
        if not width(char):
            return
        if not self.modes["wrap"]:
            self.column = min(self.column, self.columns - 1)
            self.row = min(self.row, self.rows - 1)
        if self.column >= self.columns or self.row >= self.rows:
            raise ValueError(f"text behind the last column of row {self.row}: {char!r}")
        self.cells[self.row][self.column] = char
        self.looks[self.row][self.column] = self.look
        if width(char) == 2 and self.column + 1 < self.columns:
            self.cells[self.row][self.column + 1] = ""
        self.column += width(char)

    def text(self):
        lines = ["".join(row).rstrip() for row in self.cells]
        return "\n".join(lines).rstrip("\n") + "\n"
