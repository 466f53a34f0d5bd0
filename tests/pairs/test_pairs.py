"""Each planted mistake is found where it is, and no corrected twin is reported."""

import collections

import pytest
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


@EVERY
def test_the_corrected_kernel_does_what_numpy_does(pair):
    pair.check(pair.run(True))
