# SPDX-License-Identifier: Apache-2.0
"""The file of results: the schema, and the messages about other files."""

import copy
import json
import tempfile
import unittest
from pathlib import Path

import jsonschema
import synthetic
from evaluation import machine, results
from evaluation.failure import Failure

GOOD = synthetic.results(synthetic.ours_ahead(1))


class Schema(unittest.TestCase):
    def broken(self, change):
        one = copy.deepcopy(GOOD)
        change(one)
        with self.assertRaises(jsonschema.ValidationError):
            results.check(one)

    def test_accepts_results(self):
        results.check(GOOD)
        results.check(results.empty(machine.facts()))

    def test_refuses_what_is_none(self):
        row = lambda one: one["benchmarks"]["alternator"]["rows"][0]
        self.broken(lambda one: one.update(format=2))
        self.broken(lambda one: one.pop("machine"))
        self.broken(lambda one: one["machine"].update(cpus=0))
        self.broken(lambda one: one["benchmarks"]["alternator"].pop("rows"))
        self.broken(lambda one: row(one).update(better="larger"))
        self.broken(lambda one: row(one).update(values=["fast"]))
        self.broken(lambda one: row(one).pop("contender"))


class File(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = self.folder / "results.json"

    def refusal(self):
        with self.assertRaises(Failure) as told:
            results.load(self.path)
        self.assertIn(str(self.path), str(told.exception))
        return str(told.exception)

    def test_is_read_as_it_was_written(self):
        results.save(self.path, GOOD)
        self.assertEqual(results.load(self.path), GOOD)
        self.assertEqual([one.name for one in self.folder.iterdir()], ["results.json"])

    def test_that_is_missing_or_none_is_told_with_a_remedy(self):
        self.assertIn("readmost bench all", self.refusal())
        self.path.write_text("{")
        self.assertIn("not JSON", self.refusal())
        self.path.write_text(json.dumps({**GOOD, "format": 7}))
        self.assertRegex(self.refusal(), "format: 1 was expected; measure anew")

    def test_of_another_machine_is_not_added_to(self):
        results.save(self.path, GOOD)
        with self.assertRaisesRegex(Failure, "another machine .*Imaginary 9000.*--output"):
            results.load_to_add(self.path)

    def test_of_this_machine_is_added_to(self):
        here = {**GOOD, "machine": machine.facts()}
        results.save(self.path, here)
        self.assertEqual(results.load_to_add(self.path), here)

    def test_that_cannot_be_written_is_told_before_measuring(self):
        for path, words in (
            (self.folder / "none" / "x.json", "there is no folder"),
            (self.folder, "is a folder"),
        ):
            with self.assertRaisesRegex(Failure, words):
                results.check_writable(path)

    def test_stays_as_it_was_when_it_cannot_be_written(self):
        with self.assertRaisesRegex(Failure, "cannot be written"):
            results.write(self.folder / "none" / "x.json", "{}")


class Machine(unittest.TestCase):
    def test_is_described(self):
        facts = machine.facts()
        self.assertGreaterEqual(facts["cpus"], 1)
        self.assertTrue(facts["processor"])
        two = {**synthetic.MACHINE, "sockets": 2, "cpus": 1}
        self.assertEqual(
            machine.sentence(two),
            "Imaginary 9000, 1 CPU, 2 sockets, 24 GiB, virtual machine, Linux 6.1, x86_64",
        )

    def test_has_a_commit_only_where_git_knows_it(self):
        self.assertIsNone(machine.commit_of("/"))


if __name__ == "__main__":
    unittest.main()
