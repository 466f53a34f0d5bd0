"""Runs a random sample of similar test cases; each run of the suite on the simulator draws another
sample.

A run keeps at most CASES cases of a parametrized test. The marker `cases(count)` sets another number for a
test, a class or a module. The marker `every_case` excludes a test from sampling; it is for cheap cases that each
test a separate rule.
A case that the command line names by its full id always runs. `draw_cases` and `one` sample within a test, for
example from thousands of cases.

The seed is printed at the end of a run. NUMBALITE_TEST_SEED=N draws the same cases again;
NUMBALITE_TEST_SEED=all runs all cases. On a GPU all cases run, because compilation does not
dominate.

The seed and the id of a test determine the numbers that the test draws with `random` and `random_generator()`.
"""

import collections
import hashlib
import os
import random

import numpy as np
import pytest

VARIABLE = "NUMBALITE_TEST_SEED"
CASES = 2
# Folders whose cases are cheap and test different rules.
EVERY_CASE = {"abi", "docs", "layout", "null", "tiny"}


def pytest_configure():
    """Stores the seed of this session in the environment, from which other processes read it."""
    seed = os.environ.setdefault(VARIABLE, str(random.randrange(1_000_000)))
    if seed != "all":
        os.environ.setdefault(
            "NUMBALITE_CPU_OPT", "0"
        )  # see `optimized_host_code` in kit/fixtures.py


@pytest.fixture(autouse=True)
def _seed_random(request):
    """Seeds the module `random`, so that NUMBALITE_TEST_SEED repeats a test."""
    random.seed(f"{os.environ[VARIABLE]} {request.node.nodeid}")


def random_generator():
    """Returns a NumPy random number generator. Each call in a test returns another generator."""
    return np.random.default_rng(random.getrandbits(64))


def _drawing_seed():
    """Returns the seed, or None if all cases run."""
    seed = os.environ.get(VARIABLE, "all")
    return None if seed == "all" or os.environ.get("NUMBALITE_DRIVER") != "sim" else seed


def draw_cases(count, cases, of=""):
    """Returns `count` of the cases, in their order. Calls with different names (`of`) draw
    independently."""
    cases = list(cases)
    seed = _drawing_seed()
    if seed is None:
        return cases
    drawn = random.Random(f"{seed} of {len(cases)}{of}").sample(range(len(cases)), count)
    return [cases[i] for i in sorted(drawn)]


def draw_one_case(cases, of=""):
    """Returns one of the cases."""
    return draw_cases(1, cases, of)


def _number_of_cases(item):
    """Returns how many cases of the item's test run, or None for all."""
    for mark in item.iter_markers():
        if mark.name == "every_case":
            return None
        if mark.name == "cases":
            return mark.args[0]
    return None if item.path.parent.name in EVERY_CASE else CASES


def _named_on_command_line(config):
    """Returns the paths and names of the cases whose full ids are on the command line."""
    for argument in config.args:
        path, _, name = argument.partition("::")
        if name.endswith("]"):
            yield (config.invocation_params.dir / path).resolve(), name


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Deselects the cases that were not drawn.

    The rank of a case depends on the seed and its own id only: a test draws the same cases no matter
    which other tests are selected.
    """
    result = yield
    seed = _drawing_seed()
    if seed is None:
        return result
    named = set(_named_on_command_line(config))
    tests = collections.defaultdict(list)
    for item in items:
        if getattr(item, "callspec", None) is not None:
            tests[item.parent.nodeid, item.originalname].append(item)
    left_out = set()
    for cases in tests.values():
        count = _number_of_cases(cases[0])
        if count is not None and count < len(cases):
            cases.sort(key=lambda case: hashlib.sha256(f"{seed} {case.nodeid}".encode()).digest())
            left_out.update(cases[count:])
    if named:
        left_out = {
            item
            for item in left_out
            if (item.path.resolve(), item.nodeid.partition("::")[2]) not in named
        }
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
    return result


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"{VARIABLE}={os.environ[VARIABLE]} draws the same cases again")
