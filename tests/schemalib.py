# SPDX-License-Identifier: BSD-2-Clause
"""Checks JSON of gpumemtrace against user/doc/json-schema.json, with python3-jsonschema."""
import functools
import json
import os

try:
    import jsonschema
except ImportError:
    jsonschema = None

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "user", "doc", "json-schema.json")


def is_there():
    return jsonschema is not None


def strict(schema):
    """The schema lets versions to come add members. A test permits none that the schema does not describe."""
    if isinstance(schema, dict):
        closed = {name: strict(part) for name, part in schema.items()}
        return {**closed, "additionalProperties": False} if "properties" in schema and "type" in schema else closed
    return [strict(part) for part in schema] if isinstance(schema, list) else schema


@functools.lru_cache
def read():
    with open(PATH, encoding="utf-8") as file:
        return strict(json.load(file))


def wrong_schema():
    try:
        jsonschema.Draft202012Validator.check_schema(read())
    except jsonschema.SchemaError as error:
        yield str(error)


@functools.lru_cache
def validator(name):
    """For one of the kinds of lines: its errors say more than that none of the kinds fits."""
    schema = read()
    return jsonschema.Draft202012Validator({"$defs": schema["$defs"], "$ref": f"#/$defs/{name}"})


def wrong(value):
    """What the schema does not permit in a line."""
    name = {"doctor": "doctor", "probes": "probes", "diff": "diff", "ranks": "ranks", None: "record"}.get(value.get("type"), "view")
    for error in validator(name).iter_errors(value):
        yield f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
