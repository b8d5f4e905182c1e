# SPDX-License-Identifier: Apache-2.0
"""Validate JSON by a JSON schema, with the subset of draft 2020-12 that doc/*.schema.json use.

An unsupported keyword is an error, so that everything in a schema is checked.
check() returns a list of errors, which is empty on success.
"""
import json
import pathlib
import re

DOC = pathlib.Path(__file__).resolve().parents[2] / "doc"
ENOUGH = 20  # errors to report

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
SILENT = {"$schema", "$defs", "$id", "title", "description"}


def is_type(value, name):
    if isinstance(value, bool):  # which is a number in Python
        return name == "boolean"
    if name == "number":
        return isinstance(value, (int, float))
    return isinstance(value, TYPES[name])


class Validator:
    def __init__(self, schema):
        self.schema = schema

    def find(self, reference):
        """A reference within the schema: #/$defs/NAME."""
        found = self.schema
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        return found

    def complaints(self, value, schema, where="$"):
        for keyword, wanted in schema.items():
            if keyword in SILENT:
                continue
            rule = getattr(self, "rule_" + keyword.lstrip("$"), None)
            if not rule:
                raise NotImplementedError(f"schema keyword '{keyword}'")
            yield from rule(value, wanted, schema, where)

    def rule_ref(self, value, reference, schema, where):
        yield from self.complaints(value, self.find(reference), where)

    def rule_type(self, value, name, schema, where):
        if not is_type(value, name):
            yield f"{where} is {value!r}, not of type {name}"

    def rule_enum(self, value, allowed, schema, where):
        if value not in allowed:
            yield f"{where} is {value!r}, none of {allowed}"

    def rule_const(self, value, wanted, schema, where):
        if value != wanted or type(value) is not type(wanted):
            yield f"{where} is {value!r}, not {wanted!r}"

    def rule_pattern(self, value, pattern, schema, where):
        if isinstance(value, str) and not re.search(pattern, value):
            yield f"{where} is {value!r}, which is not like {pattern}"

    def rule_minimum(self, value, least, schema, where):
        if isinstance(value, (int, float)) and value < least:
            yield f"{where} is {value}, below {least}"

    def rule_required(self, value, names, schema, where):
        for name in names:
            if isinstance(value, dict) and name not in value:
                yield f"{where} has no '{name}'"

    def rule_properties(self, value, properties, schema, where):
        for name, inner in properties.items():
            if isinstance(value, dict) and name in value:
                yield from self.complaints(value[name], inner, f"{where}.{name}")

    def rule_additionalProperties(self, value, inner, schema, where):
        if not isinstance(value, dict):
            return
        for name in value.keys() - schema.get("properties", {}).keys():
            if inner is False:
                yield f"{where} has '{name}', which the schema does not know"
            elif inner is not True:
                yield from self.complaints(value[name], inner, f"{where}.{name}")

    def rule_items(self, value, inner, schema, where):
        for i, item in enumerate(value if isinstance(value, list) else []):
            yield from self.complaints(item, inner, f"{where}[{i}]")


def check(value, schema):
    found = []
    for sentence in Validator(schema).complaints(value, schema):
        found.append(sentence)
        if len(found) == ENOUGH:
            break
    return found


def load(command):
    """The schema of the output of `sonde COMMAND --json`."""
    return json.loads((DOC / f"{command}.schema.json").read_text())
