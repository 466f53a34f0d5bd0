"""Random PTX loops with tests of the stop flag store the same numbers as without the tests, and end
soon after the flag is set."""

import random

import pytest
from kit import ptxthread

from numbalite.compilers import ptxloops, ptxreader, stoppable

BUDGET = 128
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n"
CONDITIONS = ("lt", "le", "gt", "ge", "ne", "eq")


class RandomLoopKernels:
    """Random kernels. Each iteration stores the counter."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def kernel(self):
        nested = self.random.random() < 0.4
        body = "".join(self.loop() for _ in range(self.random.choice((1, 1, 2))))
        if nested:
            self.count += 1
            test = self.random.choice(
                (
                    "bra OUTER;\n",
                    f"setp.lt.u32 %more, %outer, {self.random.choice((3, 40, 1 << 31))};\n@%more bra OUTER;\n",
                )
            )
            body = f"mov.u32 %outer, 0;\nOUTER:\n{body}add.u32 %outer, %outer, 1;\n{test}"
        return f"{HEAD}{body}st.global.u32 [%a], 77;\nret;\n}}\n"

    def number(self, kind, width):
        low, high = (
            (-(1 << width - 1), (1 << width - 1) - 1) if kind == "s" else (0, (1 << width) - 1)
        )
        near = self.random.choice((low, high, 0, 0, 0, 100))
        return min(max(near + self.random.randint(-130, 130), low), high)

    def loop(self):
        choose = self.random.choice
        self.count += 1
        n, width, kind = self.count, choose((32, 32, 64)), choose("su")
        i, j, p, q, r = (f"%{name}{n}" for name in "ijpqr")
        step = choose((1, 1, -1, -1, 2, 3, 4, 7, 16, -2, -3, -4, -16, 0, 1 << 19))
        step_operand, bound = str(step), str(self.number(kind, width))
        text = f"mov.b{width} {i}, {self.number(kind, width)};\nmov.b32 %k{n}, 0;\n"
        if self.random.random() < 0.4:
            text += f"mov.b{width} %b{n}, {bound};\n"
            bound = f"%b{n}"
        if self.random.random() < 0.4:
            step = choose((step, 1 << width - 2, (1 << width - 1) - 1, -(1 << width - 1)))
            text += f"mov.b{width} %s{n}, {step};\n"
            step_operand = f"%s{n}"
        condition, negated, swapped = (
            choose(CONDITIONS),
            choose((False, False, True)),
            choose((False, False, True)),
        )
        left_right = (bound, "{}") if swapped else ("{}", bound)
        compare = f"setp.{condition}.{kind}{width} {p}, {left_right[0]}, {left_right[1]};\n"
        form = choose(("plain", "plain", "before", "after", "old"))
        store = f"st.global.u{width} [%a], {i};\n"
        add = "add.s{} {}, {}, {};\n"
        if form == "before":
            body = f"mov.b{width} {j}, {i};\n{store}{add.format(width, i, j, step_operand)}{compare.format(i)}"
        elif form == "after":
            body = f"{store}{add.format(width, j, i, step_operand)}{compare.format(j)}mov.b{width} {i}, {j};\n"
        elif form == "old":  # this loop compares the counter before the step
            body = f"{store}{compare.format(i)}{add.format(width, i, i, step_operand)}"
        else:
            body = f"{store}{add.format(width, i, i, step_operand)}{compare.format(i)}"
        predicate = p
        if self.random.random() < 0.3:
            other, join = ("ge", "or") if negated else ("lt", "and")
            body += (
                f"add.u32 %k{n}, %k{n}, 1;\nsetp.{other}.u32 {q}, %k{n}, {choose((5, 300, 1 << 30))};\n"
                f"{join}.pred {r}, {p}, {q};\n"
            )
            predicate = r
        return f"{text}L{n}:\n{body}@{'!' if negated else ''}{predicate} bra L{n};\nst.global.u{width} [%a], {i};\n"


@pytest.fixture(autouse=True)
def small_budget(monkeypatch):
    monkeypatch.setattr(ptxloops, "BUDGET", BUDGET)
    monkeypatch.setattr(stoppable, "BUDGET", BUDGET)


@pytest.mark.cases(3)
@pytest.mark.parametrize("group", range(80))
def test_stoppable_loops_keep_results_and_end_after_the_flag(group):
    for seed in range(group * 25, group * 25 + 25):
        ptx = RandomLoopKernels(seed).kernel()
        tested, _ = stoppable.insert_stop_tests(ptx)
        plain = ptxthread.PTXThread(ptx, None).run(1500)
        same = ptxthread.PTXThread(tested, lambda executed: 0).run(
            40000, len(plain.stored) + (plain.end is not None)
        )
        assert same.stored[: len(plain.stored)] == plain.stored, ptx
        assert same.end == plain.end, ptx
        when = random.Random(seed).randint(2, 1000)
        stops = ptxthread.PTXThread(tested, lambda executed, when=when: int(executed > when)).run(
            5000
        )
        assert stops.executed < when + 10 * BUDGET, ptx


def count_loop(body):
    """Returns the counter of a function's only loop: (goes_on, step, bound, iterations at most)."""
    (function,) = ptxreader.read_ptx(HEAD + body + "\nret;\n}\n").functions
    (loop,) = ptxloops.find_loops(function)
    found = loop.counted
    return found and (found.goes_on, found.step, found.bound, found.most)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("L: add.s32 %i, %i, 1; setp.lt.s32 %p, %i, %n; @%p bra L;", ("lt", 1, "%n", None)),
        ("L: add.s32 %i, %i, %s; setp.gt.s32 %p, %n, %i; @%p bra L;", ("lt", "%s", "%n", None)),
        ("L: add.s32 %i, %i, -4; setp.eq.s32 %p, %i, 0; @!%p bra L;", ("ne", -4, "0", None)),
        (
            "mov.u32 %i, 0; L: add.s32 %i, %i, 1; setp.ne.s32 %p, %i, 100; @%p bra L;",
            ("ne", 1, "100", 100),
        ),
        (
            "L: add.s32 %i, %i, 1; setp.lt.u32 %p, %i, 100; setp.lt.f32 %q, %f, 0f40800000; "
            "and.pred %r, %p, %q; @%r bra L;",
            ("lt", 1, "100", 102),
        ),
        # The bound changes.
        ("L: add.s32 %i, %i, 1; ld.global.u32 %n, [%a]; setp.lt.s32 %p, %i, %n; @%p bra L;", None),
        # In these loops the counter changes twice per iteration, or not in every iteration.
        ("L: add.s32 %i, %i, 1; add.s32 %i, %i, 1; setp.lt.s32 %p, %i, %n; @%p bra L;", None),
        ("L: @%q add.s32 %i, %i, 1; setp.lt.s32 %p, %i, %n; @%p bra L;", None),
        (
            "L: @%q bra M; add.s32 %i, %i, 1; M: setp.lt.s32 %p, %i, %n; @%p bra L;",
            None,
        ),
        # The counter moves away from the bound; the predicate has another use;
        # the loop has no bound.
        ("L: add.s32 %i, %i, -1; setp.lt.s32 %p, %i, %n; @%p bra L;", None),
        ("L: add.s32 %i, %i, 1; setp.lt.s32 %p, %i, %n; selp.b32 %x, 1, 0, %p; @%p bra L;", None),
        ("L: add.s32 %i, %i, 1; bra L;", None),
    ],
)
def test_stop_tests_are_counted_for_loops(body, expected):
    assert count_loop(body) == expected


def test_irreducible_loops_have_no_stop_test():
    body = "@%q bra M; L: st.global.u32 [%a], %i; M: add.s32 %i, %i, 1; setp.lt.s32 %p, %i, %n; @%p bra L;"
    assert count_loop(body) is None


def test_short_loops_with_constant_bounds_have_no_test():
    loop = "mov.u32 %i, 0; L: add.s32 %i, %i, 1; setp.ne.s32 %p, %i, {}; @%p bra L; ret;"
    for most, tests in ((BUDGET // 3, 0), (BUDGET, 1)):
        assert len(stoppable.insert_stop_tests(f"{HEAD}{loop.format(most)}\n}}\n")[1]) == tests
