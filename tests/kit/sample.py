"""A part of many cases that are alike, another one in each run: where each case costs a compilation or more.

The seed is printed at the end of a run. NUMBALITE_TEST_SEED draws the same cases again, NUMBALITE_TEST_SEED=all
leaves none out, and on a GPU, where compiling is not what tests wait for, none is left out either.
"""

import os
import random

VARIABLE = "NUMBALITE_TEST_SEED"


def choose_seed():
    """Puts the seed of this session into the environment, where the other processes find it."""
    os.environ.setdefault(VARIABLE, str(random.randrange(1_000_000)))


def some(count, cases, of=""):
    """`count` of the cases, in their order. Tests that say what they are (`of`) draw apart from others."""
    cases = list(cases)
    seed = os.environ.get(VARIABLE, "all")
    if seed == "all" or os.environ.get("NUMBALITE_DRIVER") != "sim":
        return cases
    drawn = random.Random(f"{seed} of {len(cases)}{of}").sample(range(len(cases)), count)
    return [cases[i] for i in sorted(drawn)]


def one(cases, of=""):
    """One of the cases."""
    return some(1, cases, of)
