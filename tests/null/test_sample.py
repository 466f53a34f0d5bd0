"""Tests the random selection of test cases (kit/sample.py), in sessions of pytest."""

import collections
import json

PROGRAM = """
import pytest

@pytest.mark.parametrize("b", "xyz")
@pytest.mark.parametrize("a", range(20))
def test_product(a, b): pass

@pytest.mark.cases(7)
class TestSeven:
    @pytest.mark.parametrize("a", range(20))
    def test_numbers(self, a): pass

@pytest.mark.every_case
@pytest.mark.parametrize("a", range(20))
def test_every(a): pass

def test_alone(): pass
"""
# Collects once for each (arguments, seed, driver), and prints the ids of the cases that would run.
SESSIONS = """
import contextlib, io, json, os, sys
import pytest

class Items:
    def pytest_collection_finish(self, session):
        self.found = [item.nodeid.partition("::")[2] for item in session.items]

found = []
for arguments, seed, driver in json.loads(sys.argv[1]):
    os.environ["NUMBALITE_TEST_SEED"], os.environ["NUMBALITE_DRIVER"] = seed, driver
    items = Items()
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--collect-only", "-p", "no:cacheprovider", "-p", "kit.sample", *arguments], [items])
    found.append(items.found)
print(json.dumps(found))
"""


def test_a_run_draws_a_few_cases_of_each_test(run_python, checkout_root, tmp_path):
    (tmp_path / "test_it.py").write_text(PROGRAM)
    named = [f"test_it.py::test_product[{a}-x]" for a in range(5)]
    sessions = [
        ([], "1", "sim"),
        ([], "1", "sim"),
        ([], "2", "sim"),
        ([], "all", "sim"),
        ([], "1", "cuda"),
        (["test_it.py::test_product"], "1", "sim"),
        (["-k", "product and x]"], "1", "sim"),
        (named, "1", "sim"),
        ([str(tmp_path / named[0]), "test_it.py::TestSeven"], "1", "sim"),
    ]
    found = json.loads(
        run_python(
            SESSIONS, json.dumps(sessions), PYTHONPATH=f"{checkout_root}:{checkout_root / 'tests'}"
        ).stdout
    )
    first, again, other, every, on_a_gpu, one_test, part, by_name, mixed = found

    def cases_per_test(cases):
        tests = collections.Counter(case.partition("[")[0] for case in cases)
        names = ("test_product", "TestSeven::test_numbers", "test_every", "test_alone")
        return [tests[name] for name in names]

    assert cases_per_test(first) == cases_per_test(other) == [2, 7, 20, 1]
    assert first == again != other
    assert cases_per_test(every) == cases_per_test(on_a_gpu) == [60, 20, 20, 1]
    # The random cases of a test do not depend on the other selected tests.
    assert one_test == [case for case in first if "product" in case]
    assert cases_per_test(part) == [2, 0, 0, 0]
    assert {case for case in one_test if case.endswith("-x]")} <= set(part)
    # A case runs if the command line contains its full name.
    assert by_name == [name.partition("::")[2] for name in named]
    assert cases_per_test(mixed) == [1, 7, 0, 0] and mixed[0] == by_name[0]


DRAWING = """
import random
from kit.sample import random_generator

def draw():
    return [random.random(), *random_generator().random(2), *random_generator().random(2)]

def test_one(record_property):
    record_property("drawn", draw())

def test_two(record_property):
    record_property("drawn", draw())
"""
DRAWN = """
import contextlib, io, json, os, sys
import pytest

class Reports:
    def __init__(self):
        self.found = {}
    def pytest_runtest_logreport(self, report):
        self.found.update({report.nodeid: value for _, value in report.user_properties})

found = []
for arguments, seed in json.loads(sys.argv[1]):
    os.environ["NUMBALITE_TEST_SEED"] = seed
    reports = Reports()
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["-p", "no:cacheprovider", "-p", "kit.sample", *arguments], [reports])
    found.append(reports.found)
print(json.dumps(found))
"""


def test_the_seed_repeats_the_random_numbers_of_a_test(run_python, tmp_path, checkout_root):
    (tmp_path / "test_drawing.py").write_text(DRAWING)
    sessions = [(["."], "1"), (["test_drawing.py::test_two"], "1"), (["."], "2")]
    out = run_python(DRAWN, json.dumps(sessions), PYTHONPATH=str(checkout_root / "tests")).stdout
    first, part, other = json.loads(out)
    one, two = first.values()
    assert len(set(one)) == 5 and not set(one) & set(two)
    assert list(part.values()) == [two]
    assert not set(two) & {number for drawn in other.values() for number in drawn}
