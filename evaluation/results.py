# SPDX-License-Identifier: Apache-2.0
"""The file of results: read, validated and written as a whole."""

import contextlib
import json
import os
from pathlib import Path

import jsonschema

from . import machine
from .failure import Failure
from .samples import Samples

DEFAULT_FILE = "readmost-results.json"
SCHEMA = Path(__file__).with_name("results.schema.json")


def empty(facts):
    return {"format": 1, "machine": facts, "benchmarks": {}}


def check(results):
    """Raises jsonschema.ValidationError."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(results)


def check_kernel(counts):
    """Like check(), of what `make kernel-check` wrote."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    part = {"$ref": "#/$defs/kernel", "$defs": schema["$defs"]}
    jsonschema.Draft202012Validator(part).validate(counts)


def load(path):
    try:
        results = json.loads(Path(path).read_text(encoding="utf-8"))
        check(results)
    except FileNotFoundError:
        raise Failure(
            f"there are no results at '{path}'; measure with 'readmost bench all --output {path}',"
            " or name another file with --results"
        ) from None
    except OSError as error:
        why = error.strerror
        raise Failure(f"'{path}' cannot be read: {why}; name a file you may read") from None
    except ValueError as error:
        raise Failure(
            f"'{path}' is not JSON ({error}); name a file that 'readmost bench' wrote"
        ) from None
    except jsonschema.ValidationError as error:
        place = "/".join(map(str, error.absolute_path)) or "the whole"
        raise Failure(
            f"'{path}' does not hold results of this version: {place}: {error.message[:200]};"
            " measure anew with 'readmost bench all', or name another file"
        ) from None
    return results


def load_to_add(path):
    """The results in the file, if any. Refuses results of another machine."""
    here = machine.facts()
    if not Path(path).exists():
        return empty(here)
    results = load(path)
    if not machine.is_same(results["machine"], here):
        other = machine.sentence(results["machine"])
        raise Failure(
            f"'{path}' holds results of another machine ({other}); name another file with --output"
        )
    return results


def check_writable(path):
    """Checks before measuring that the file can be written afterwards."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise Failure(
            f"--output {path}: there is no folder '{folder}'; make it, or name another file"
        )
    if Path(path).is_dir():
        raise Failure(f"--output {path} is a folder; name a file in it")
    if not os.access(path if Path(path).exists() else folder, os.W_OK):
        raise Failure(
            f"--output {path} cannot be written: Permission denied; name a file you may write"
        )


def write(path, text):
    """Replaces the file as a whole: an interruption leaves it as it was."""
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise Failure(
            f"'{path}' cannot be written: {error.strerror}; name a file in a folder that exists"
            " and that you may write to"
        ) from None


def save(path, results):
    check(results)
    write(path, json.dumps(results, indent=1) + "\n")


def samples_of(results, benchmark):
    """None if the benchmark was not measured."""
    found = results["benchmarks"].get(benchmark)
    return Samples(found["rows"]) if found and found["rows"] else None
