"""Checks that each planted mistake is reported at its line, and that no corrected twin is
reported."""

import collections
import itertools

import pytest
from kit.needs import IS_X86
from kit.sample import draw_one_case
from pairs.form import PairsUnit
from pairs.themes import KINDS, PAIRS

from numbalite import cuda, errors
from numbalite.compilers import host, hostbuild

pytestmark = pytest.mark.cases(40)
LIMIT = 5.0  # seconds for a launch
HANGS = 0.2  # for one that never ends
# Pairs of other kinds whose mistake makes a thread wait forever.
WAITS = 0.5
ENDLESS = {"wait_for_previous_phase", "list_ends_uninitialized"}
SEEDS = (None, *draw_one_case([1, 2, 3]))
EVERY = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)


def test_each_kind_has_many_kernel_pairs():
    count = collections.Counter(pair.kind for pair in PAIRS.values())
    assert len(PAIRS) >= 80 and set(count) == set(KINDS)


def test_wrong_and_right_kernels_differ():
    for pair in PAIRS.values():
        assert pair.lines
        launched = {name: value for name, value in pair.right.items() if name != "options"}
        assert pair.source(True) != pair.source(False) or launched, pair.name
        lines = pair.source(True).split("\n")[1:]
        assert "\n".join(lines).count("\n") == pair.text.count("\n"), pair.name


@pytest.fixture(scope="module")
def kernel_of():
    """Returns kernel_of(pair, right); the kernels of a theme are compiled as one unit."""
    themes = itertools.groupby(PAIRS.values(), lambda pair: pair.theme)
    units = {theme: PairsUnit(pairs) for theme, pairs in themes}
    return lambda pair, right: units[pair.theme].kernel(pair, right)


@pytest.mark.gpu
@pytest.mark.parametrize("pair", PAIRS.values(), ids=lambda pair: pair.name)
def test_corrected_kernel_matches_numpy(pair):
    """Each corrected kernel is compiled alone, as in a user's program."""
    pair.check(pair.run(True))


@pytest.mark.sim
def test_a_whole_source_has_its_constants():
    """A corrected twin that is a complete source compiles alone, with its Python constants."""
    pair = PAIRS["blur_reads_past_edges"]
    assert pair.is_source and set(pair.constants) == {"TILE"}
    pair.check(pair.run(True))


def checks_for(pair, seed=None, limit=LIMIT):
    """Returns a context manager with all checks. The check "nan" is included only for the theme arithmetic,
    because other kernels compute NaN intentionally."""
    return cuda.checks(
        "all", *(["nan"] if pair.theme == "arithmetic" else []), seed=seed, limit=limit
    )


# Parts that a report may lack.
INCOMPLETE = {
    "dynamic_memory_size_not_passed": "the name: an array without a size is nowhere",
}
# Another check finds this mistake: the granularity of shadow memory is 8 bytes, and the text has 6 bytes.
ANOTHER_KIND = {"text_without_terminating_zero": "unwritten"}
if not IS_X86:
    ANOTHER_KIND["recursion_without_end"] = "memory"  # docs/install.md, "64-bit Arm"


@pytest.mark.sim
@EVERY
def test_checkers_report_the_mistake(pair, kernel_of):
    by_ir = pair.theme == "variables" or pair.kind == "overflow"
    if by_ir and hostbuild.identify_compiler(host.find_compiler()).family == "gcc":
        pytest.skip("g++ tells nothing of local variables and of sums")
    limit = HANGS if pair.kind == "hang" else WAITS if pair.name in ENDLESS else LIMIT
    with pytest.raises(errors.KernelError) as caught, checks_for(pair, limit=limit):
        pair.run(False, kernel_of(pair, False))
    found = caught.value
    assert found.kind == ANOTHER_KIND.get(pair.name, pair.kind), found
    assert len(found.block) == 3
    assert found.thread is not None or pair.kind in ("sync", "hang"), (
        found
    )  # many threads, in words
    complete = found.file == pair.file and found.line in pair.lines
    complete = complete and pair.array in (None, found.array)
    assert complete or pair.name in INCOMPLETE, found


@pytest.mark.sim
@EVERY
def test_checkers_accept_the_corrected_kernel(pair, kernel_of):
    for seed in SEEDS:
        with checks_for(pair, seed):
            pair.check(pair.run(True, kernel_of(pair, True)))


@pytest.mark.sim
@pytest.mark.parametrize("pair", PAIRS.values(), ids=lambda pair: pair.name)
def test_an_exact_search_reports_races_and_no_corrected_kernel(pair, kernel_of):
    with cuda.checks("race", "hang", exact=True, limit=LIMIT, budget=0.2) as checks:
        pair.run(True, kernel_of(pair, True))
    assert checks.verdict.kind in ("no schedule races", "depends on atomics")
    if pair.kind != "race" or pair.name in ENDLESS:
        return
    # The search ends at the first race; only a search that finds no race uses the entire budget.
    checks = cuda.checks("race", "hang", exact=True, limit=LIMIT, budget=20.0)
    with pytest.raises(errors.KernelError) as caught, checks:
        pair.run(False, kernel_of(pair, False))
    assert checks.verdict.kind == "races" and caught.value.verdict == "races"
    assert caught.value.line in pair.lines
