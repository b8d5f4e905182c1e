#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail if an operator of mutants.py does not make the expected changes.

usage: check_mutants.py
"""
import sys

from mutants import OPERATORS, mutants_of

# operator, body of a function, and all changes of the body by the operator
EXPECTED = [
    ("negate", "if (a && b) c();", ["if (!(a && b)) c();"]),
    ("negate", "while (a) b();", ["while (!(a)) b();"]),
    ("negate", "x = a ? b : c;", ["x = a == 0 ? b : c;"]),
    ("negate", "x = a ?: c;", []),
    ("compare", "x = a < b;", ["x = a <= b;"]),
    ("compare", "x = a != b;", ["x = a == b;"]),
    ("compare", "x = a->b << 2;", []),
    ("arithmetic", "x = a - b;", ["x = a + b;"]),
    ("arithmetic", "x = -b;", []),
    ("arithmetic", "return -EINVAL;", []),
    ("arithmetic", "i++;", ["i--;"]),
    ("constant", "x = 8;", ["x = (8 + 1);", "x = (8 - 1);"]),
    ("constant", "x = 0;", ["x = (0 + 1);"]),
    ("constant", 'x = "8"; /* 8 */', []),
    ("logic", "x = a || b;", ["x = a && b;"]),
    ("invert", "x = !a & ~b;", ["x = a & ~b;", "x = !a & b;"]),
    ("mask", "x = AB | CD;", ["x = AB;", "x = CD;"]),
    ("mask", "x = ab | 1;", []),
    ("drop", "f(x);", [";"]),
    ("drop", "a->b(x);", [";"]),
    ("drop", "*a = b;", [";"]),
    ("drop", "for (;;) break;", ["for (;;) ;"]),
    ("drop", "for (i = 0; i < 5; i++) ;", []),
    ("drop", "int a = f(x);", []),
    ("drop", "char *a = f(x);", []),
    ("drop", "return f(x);", []),
]


def changes(operator, body):
    source = f"int f(void)\n{{\n{body}\n}}\n"
    made = [mutant.apply(source) for mutant in mutants_of("x.c", source, [operator])]
    return [" ".join(text.splitlines()[2].split()).replace(" ;", ";") for text in made]


def check_body(operator, body, want):
    got, want = changes(operator, body), [text.replace(" ;", ";") for text in want]
    if got != want:
        print(f"{operator}: '{body}' becomes {got}, want {want}")
    return got == want


def check_function(head, want):
    source = f"{head}\n{{\n\tx();\n}}\n"
    got = [mutant.text.strip() for mutant in mutants_of("x.c", source, ["leave"])]
    if got != want:
        print(f"leave: '{head}' returns by {got}, want {want}")
    return got == want


def main():
    good = [check_body(*case) for case in EXPECTED]
    good.append(check_function("static void f(void)", ["if (1) return;"]))
    good.append(check_function("void *f(int a)", ["if (1) return 0;", "if (1) return 1;"]))
    good.append({operator for operator, _, _ in EXPECTED} | {"leave"} == set(OPERATORS))
    sys.exit(not all(good))


main()
