#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The schema checker must accept a valid value and find each error in an invalid one."""
import unittest

import schema

SCHEMA = {
    "title": "a step",
    "type": "object",
    "required": ["start", "state"],
    "properties": {
        "start": {"$ref": "#/$defs/ns"},
        "state": {"enum": ["R", "C"]},
        "leaf": {"const": True},
        "id": {"type": "string", "pattern": "^[0-9a-f]{4}$"},
        "stack": {"type": "array", "items": {"type": "string"}},
        "events": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "additionalProperties": False,
    "$defs": {"ns": {"type": "integer", "minimum": 0}},
}
GOOD = {"start": 0, "state": "R", "leaf": True, "id": "7f3a", "stack": ["main"], "events": {"a:b": 3}}


def keywords(part):
    """All keywords of a schema and those within it."""
    for key, value in part.items():
        yield key
        inner = value.values() if key in ("properties", "$defs") else [value]
        if key in ("properties", "$defs", "items", "additionalProperties"):
            for one in inner:
                yield from keywords(one) if isinstance(one, dict) else ()


class Schema(unittest.TestCase):
    def expect(self, changes, *words):
        wrong = schema.check(GOOD | changes, SCHEMA)
        self.assertEqual(len(wrong), len(words), wrong)
        for sentence, word in zip(wrong, words):
            self.assertIn(word, sentence)

    def test_a_valid_value(self):
        self.expect({})

    def test_another_type(self):
        self.expect({"start": "0"}, "$.start is '0', not of type integer")

    def test_a_boolean_is_not_a_number(self):
        self.expect({"start": True}, "not of type integer")

    def test_a_number_is_not_a_boolean(self):
        self.expect({"leaf": 1}, "$.leaf is 1, not True")

    def test_a_number_too_small(self):
        self.expect({"start": -1}, "$.start is -1, below 0")

    def test_a_value_that_is_not_listed(self):
        self.expect({"state": "W"}, "$.state is 'W', none of")

    def test_a_string_unlike_the_pattern(self):
        self.expect({"id": "7f3a5"}, "$.id is '7f3a5'")

    def test_an_item_of_another_type(self):
        self.expect({"stack": ["main", 7]}, "$.stack[1] is 7")

    def test_an_unknown_property(self):
        self.expect({"colour": "red"}, "has 'colour'")

    def test_a_free_property_of_another_type(self):
        self.expect({"events": {"a:b": "3"}}, "$.events.a:b is '3'")

    def test_a_missing_property(self):
        without = {key: value for key, value in GOOD.items() if key != "state"}
        self.assertEqual(schema.check(without, SCHEMA), ["$ has no 'state'"])

    def test_an_unsupported_keyword_is_an_error(self):
        with self.assertRaises(NotImplementedError):
            schema.check({}, {"maxProperties": 3})

    def test_the_schemas_use_supported_keywords_only(self):
        for command in ("path", "explain"):
            used = set(keywords(schema.load(command)))
            unknown = [k for k in used - schema.SILENT
                       if not hasattr(schema.Validator, "rule_" + k.lstrip("$"))]
            self.assertEqual(unknown, [], command)


if __name__ == "__main__":
    unittest.main()
