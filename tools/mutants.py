# SPDX-License-Identifier: Apache-2.0
"""Small changes to C code, each of which a test should detect.

A tokenizer is enough for that: each operator inspects a token, the tokens next to it
and its closing bracket, and yields replacements of source text.  The caller discards
changes that do not compile.
"""
import dataclasses
import re

TOKEN = re.compile(r"""
    (?P<skip>    /\*.*?\*/ | //[^\n]* | ^[ \t]*\#(?:\\\n|[^\n])* | \s+ )
  | (?P<text>    (?:u8|[uUL])?"(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' )
  | (?P<number>  \.?\d(?:[eEpP][+-]|[\w.])* )
  | (?P<word>    [A-Za-z_]\w* )
  | (?P<sign>    \.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|. )
""", re.X | re.S | re.M)

COMPARE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "+=": "-=", "-=": "+=", "++": "--", "--": "++", "<<": ">>", ">>": "<<"}
LOGIC = {"&&": "||", "||": "&&"}
ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"}
NO_EXPRESSION = {"return", "if", "else", "for", "while", "do", "switch", "case", "default", "goto", "struct",
                 "const", "static", "enum", "union", "typedef", "extern", "_Static_assert", "_cleanup_"}
CLOSES = {"(": ")", "[": "]", "{": "}"}


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int

    @property
    def end(self):
        return self.start + len(self.text)


@dataclasses.dataclass(frozen=True)
class Mutant:
    """source[start:end] becomes `text`."""
    file: str
    line: int
    column: int
    operator: str
    start: int
    end: int
    text: str

    @property
    def name(self):
        return f"{self.file}:{self.line}:{self.column}:{self.operator}"

    def apply(self, source):
        return source[:self.start] + self.text + source[self.end:]

    def describe(self, source):
        first = source.rfind("\n", 0, self.start) + 1
        last = source.find("\n", self.end)
        before, after = source[first:self.start], source[self.end:last]
        change = f"{before}[{source[self.start:self.end]} -> {self.text}]{after}"
        return " ".join(change.split())


class Code:
    """Tokens of a file, with the pairs of brackets."""

    def __init__(self, source):
        self.source = source
        self.tokens = [Token(found.lastgroup, found[0], found.start()) for found in TOKEN.finditer(source)
                       if found.lastgroup != "skip"]
        self.closing = {}
        self.depth = []  # number of braces around each token
        self.around = []  # the innermost bracket around each token, or ""
        stack = []
        for i, token in enumerate(self.tokens):
            if token.text in CLOSES.values() and stack:
                self.closing[stack.pop()] = i
            self.depth.append(sum(self.text(at) == "{" for at in stack))
            self.around.append(self.text(stack[-1]) if stack else "")
            if token.text in CLOSES:
                stack.append(i)

    def text(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def kind(self, i):
        return self.tokens[i].kind if 0 <= i < len(self.tokens) else ""

    def ends_operand(self, i):
        """Whether a sign that follows this token has it as its left operand."""
        return self.kind(i) in ("number", "text") or self.text(i) in (")", "]") \
            or self.kind(i) == "word" and self.text(i) not in NO_EXPRESSION | {"sizeof"}

    def replace(self, i, text):
        return self.tokens[i].start, self.tokens[i].end, text


def negate(code, i):
    """if (x) -> if (!(x)); x ? y : z -> x == 0 ? y : z"""
    if code.text(i) in ("if", "while") and code.text(i + 1) == "(" and i + 1 in code.closing:
        start, end = code.tokens[i + 1].end, code.tokens[code.closing[i + 1]].start
        yield start, end, f"!({code.source[start:end]})"
    elif code.text(i) == "?" and code.text(i + 1) != ":":
        yield code.replace(i, "== 0 ?")


def compare(code, i):
    """x < y -> x <= y; x == y -> x != y"""
    if code.text(i) in COMPARE:
        yield code.replace(i, COMPARE[code.text(i)])


def arithmetic(code, i):
    """x + y -> x - y; x << y -> x >> y; x++ -> x--"""
    text = code.text(i)
    if text in ARITHMETIC and (text in ("++", "--") or code.ends_operand(i - 1)):
        yield code.replace(i, ARITHMETIC[text])


def constant(code, i):
    """5 -> 5 + 1; 5 -> 5 - 1"""
    if code.kind(i) == "number":
        yield code.replace(i, f"({code.text(i)} + 1)")
        if not re.fullmatch("0[uUlL]*", code.text(i)):
            yield code.replace(i, f"({code.text(i)} - 1)")


def logic(code, i):
    """x && y -> x || y"""
    if code.text(i) in LOGIC:
        yield code.replace(i, LOGIC[code.text(i)])


def invert(code, i):
    """!x -> x; ~x -> x"""
    if code.text(i) in ("!", "~"):
        yield code.replace(i, "")


def mask(code, i):
    """A | B -> A; A | B -> B"""
    flag = re.compile(r"[A-Z][A-Z0-9_]+$")
    if code.text(i) == "|" and flag.match(code.text(i - 1)) and flag.match(code.text(i + 1)):
        yield code.tokens[i].start, code.tokens[i + 1].end, ""
        yield code.tokens[i - 1].start, code.tokens[i].end, ""


def drop(code, i):
    """f(x); -> ; and x = y; -> ; and break; -> ;"""
    starts = code.text(i - 1) in ("{", "}", ";", ")", "else") and code.around[i] == "{"
    if not starts or code.text(i) in NO_EXPRESSION or code.kind(i) != "word" and code.text(i) not in ("*", "("):
        return
    end = i
    while code.text(end) not in (";", "{", "}", ""):
        end = code.closing.get(end, end) + 1
    if code.text(end) == ";" and is_expression(code, i, end):
        yield code.tokens[i].start, code.tokens[end].start, ""


def is_expression(code, first, end):
    """Whether the statement between these tokens does something, rather than declare something."""
    if code.text(first) in ("break", "continue"):
        return True
    if code.kind(first) == "word" and code.kind(first + 1) == "word":
        return False  # type and name
    if code.kind(first) == "word" and code.text(first + 1) == "*":
        return False
    at, found = first, code.text(end - 1) == ")"  # a call
    while at < end:
        found |= code.text(at) in ASSIGN
        at = code.closing.get(at, at) + 1
    return found


def leave(code, i):
    """f() { x; } -> f() { return 0; x; }"""
    if code.text(i) == "{" and code.depth[i] == 0 and code.text(i - 1) == ")":
        start = i
        while code.text(start) not in (";", "}", "") or code.closing.get(start):
            start -= 1
        head = [code.text(at) for at in range(start + 1, i)]
        name = head.index("(") - 1 if "(" in head else 0
        is_void = "void" in head[:name] and "*" not in head[:name]
        for value in ("",) if is_void else (" 0", " 1"):
            yield code.tokens[i].end, code.tokens[i].end, f" if (1) return{value};"


OPERATORS = {"negate": negate, "compare": compare, "arithmetic": arithmetic, "constant": constant, "logic": logic,
             "invert": invert, "mask": mask, "drop": drop, "leave": leave}


def mutants_of(file, source, operators=tuple(OPERATORS)):
    """All mutants of a file, in the order of its text."""
    code = Code(source)
    for i, token in enumerate(code.tokens):
        for operator in operators:
            for number, (start, end, text) in enumerate(OPERATORS[operator](code, i)):
                line = source.count("\n", 0, token.start) + 1
                column = token.start - source.rfind("\n", 0, token.start)
                suffix = f"{operator}{number}" if number else operator
                yield Mutant(file, line, column, suffix, start, end, text)
