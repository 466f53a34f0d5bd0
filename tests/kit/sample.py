"""Draws some of many similar cases, different ones in each run: for cases that cost a compilation
or more.

The seed is printed at the end of a run. NUMBALITE_TEST_SEED draws the same cases again,
NUMBALITE_TEST_SEED=all runs all, and on a GPU, where compiling does not dominate, all run too.
"""

import os
import random

VARIABLE = "NUMBALITE_TEST_SEED"


def choose_seed():
    """Puts the seed of this session into the environment, where the other processes find it."""
    os.environ.setdefault(VARIABLE, str(random.randrange(1_000_000)))


def some(count, cases, of=""):
    """`count` of the cases, in their order. Tests with a name (`of`) draw independently of
    others."""
    cases = list(cases)
    seed = os.environ.get(VARIABLE, "all")
    if seed == "all" or os.environ.get("NUMBALITE_DRIVER") != "sim":
        return cases
    drawn = random.Random(f"{seed} of {len(cases)}{of}").sample(range(len(cases)), count)
    return [cases[i] for i in sorted(drawn)]


def one(cases, of=""):
    """One of the cases."""
    return some(1, cases, of)
