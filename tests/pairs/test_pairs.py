"""Each planted mistake is found where it is, and no corrected twin is reported."""

import collections
import itertools

import pytest
from pairs.form import Together
from pairs.themes import KINDS, PAIRS

EVERY = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)


def test_there_are_many_of_each_kind():
    count = collections.Counter(pair.kind for pair in PAIRS.values())
    assert len(PAIRS) >= 80 and set(count) == set(KINDS)


@EVERY
def test_a_pair_differs(pair):
    assert pair.lines
    launched = {name: value for name, value in pair.right.items() if name != "options"}
    assert pair.source(True) != pair.source(False) or launched
    assert "\n".join(pair.source(True).split("\n")[1:]).count("\n") == pair.text.count("\n")


@pytest.fixture(scope="module")
def kernel_of():
    """kernel_of(pair, right): a theme's kernels are one unit."""
    themes = itertools.groupby(PAIRS.values(), lambda pair: pair.theme)
    units = {theme: Together(pairs) for theme, pairs in themes}
    return lambda pair, right: units[pair.theme].kernel(pair, right)


@pytest.mark.gpu
@EVERY
def test_the_corrected_kernel_does_what_numpy_does(pair):
    """As a user writes it, each compiled by itself."""
    pair.check(pair.run(True))


@pytest.mark.sim
@EVERY
def test_the_corrected_kernel_does_what_numpy_does_on_the_simulator(pair, kernel_of):
    pair.check(pair.run(True, kernel_of(pair, True)))
