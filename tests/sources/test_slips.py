"""Slips in CUDA C++: each is warned of at its line by every compiler, and none of the twins."""

import warnings

import pytest
from kit import slips

from numbalite.cxx import linemap
from numbalite.errors import KernelWarning
from numbalite.kernels import options
from numbalite.kernels.module import Module


@pytest.fixture(scope="module")
def warned(target_of_each):
    """warned(source) -> the warnings about a source, with one of the compilers."""

    def compile(source, **more):
        given = options.parse(more, "cuda.module")
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            Module(linemap.plain(source, "user.cu"), given)._images.image(target_of_each)
        return [one for one in found if one.category is KernelWarning]

    return compile


@pytest.fixture(scope="module")
def of_slips(warned):
    """The warnings about the kernels of all slips, and their lines."""
    source, lines = slips.wrong()
    return warned(source), lines


def test_a_slip_is_warned_of_at_its_line(of_slips):
    found, lines = of_slips
    wanted = {lines[pair.name]: pair for pair in slips.PAIRS}
    for line, pair in wanted.items():
        at_line = [one for one in found if one.lineno == line]
        assert len(at_line) == 1, (pair.name, at_line)
        assert pair.says in str(at_line[0].message), pair.name
        assert at_line[0].filename == "user.cu"
    assert {one.lineno for one in found} == set(wanted)


def test_a_warning_shows_the_line(of_slips):
    found, _ = of_slips
    rows = slips.wrong()[0].split("\n")
    for one in found:
        assert rows[one.lineno - 1].strip() in str(one.message), one


def test_no_twin_is_warned_of(warned):
    assert warned(slips.right()) == []


def test_what_is_often_meant_is_not_warned_of(warned):
    assert warned(slips.silent()) == []
