"""Compares verdicts on random programs of small blocks with all schedules of the program."""

import random

import numpy as np
import pytest
from kit.sample import draw_cases

from numbalite import cuda
from numbalite.errors import KernelError

pytestmark = pytest.mark.sim
VARIABLES, STEPS, STATES = 3, 5, 20000
BUDGET, LARGE_BUDGET = 0.3, 20.0  # seconds
HEAD = """
#include <cuda/barrier>
#include <cuda/latch>
typedef cuda::latch<cuda::thread_scope_block> latch;
typedef cuda::barrier<cuda::thread_scope_block> barrier;
"""
CODE = {
    "r": "x += g[{}];",
    "w": "g[{}] = 1;",
    "a": "atomicAdd(&g[{}], 1);",
    "m": "atomicMax(&g[{}], 1);",
    "u": "x += atomicAdd(&g[{}], 1);",
}
ATOMICS = "amu"

# A program is a list of steps, which the threads of a block execute in order.
#   ("barrier",): __syncthreads
#   ("warp", threads): __syncwarp of these threads
#   ("access", {thread: (kind, variable)}): r, w, or an atomic (of the last one, the old value is used)
#   ("count", threads), ("await", threads): at the block's latch, which expects `count` arrivals
#   ("arrive", threads): at the block's cuda::barrier, for `count` arrivals
#   ("wait", threads), ("spin", threads): until the phase of the thread's last arrival has ended
#   ("poll", {thread: variable}): reads the variable if the phase has ended


def random_program(seed):
    """Returns (blocks, threads of a block, count, steps)"""
    r = random.Random(seed)
    blocks, threads = r.choice([(1, n) for n in range(2, 9)] + [(2, 2), (2, 3), (2, 4)])
    phased, count, steps = seed % 2, r.randint(1, threads), []
    latched, left = seed % 6 == 0, count
    arrived = set()

    def random_members(of, least=1):
        return r.sample(sorted(of), r.randint(min(least, len(of)), len(of)))

    def random_access():
        who = random_members(range(threads))
        weights = (4, 1, 0, 0, 0) if phased else (4, 1, 2, 0, 0) if seed % 4 else (4, 1, 2, 1, 1)
        what = lambda: (r.choices("rwamu", weights)[0], r.randrange(VARIABLES))
        same = what() if r.random() < 0.5 else None
        return ("access", {t: same or what() for t in who})

    def synchronize():
        nonlocal left
        kind = r.random()
        if latched and kind < 0.7:
            who = r.sample(range(threads), min(left, r.randint(0, threads)))
            left -= len(who)
            counts = (("count", frozenset(who)),) if who else ()
            return *counts, *(
                [("await", frozenset(random_members(range(threads))))]
                if left == 0 or kind < 0.1
                else []
            )
        if phased and kind < 0.5:
            who = (
                r.sample(range(threads), count)
                if r.random() < 0.7
                else random_members(range(threads))
            )
            arrived.update(who)
            return ("arrive", frozenset(who)), (r.choice(["wait", "spin"]), frozenset(who))
        if phased and kind < 0.65:
            who = random_members(range(threads))
            arrived.update(who)
            return (("arrive", frozenset(who)),)
        if phased and kind < 0.75 and arrived:
            return ((r.choice(["wait", "spin"]), frozenset(random_members(arrived))),)
        if phased and kind < 0.82 and arrived:
            return (("poll", {t: r.randrange(VARIABLES) for t in random_members(arrived)}),)
        if kind < 0.9:
            return (("barrier",),)
        return (("warp", frozenset(random_members(range(threads), 2))),)

    for _ in range(r.randint(2, STEPS)):
        steps += synchronize() if r.random() < 0.5 else [random_access()]
    return blocks, threads, count, steps


def kernel_text(name, program):
    _, _, count, steps = program
    lines = [f"__global__ void {name}(int* g, int* out) {{", "int t = threadIdx.x, x = 0;"]
    if any(step[0] == "arrive" for step in steps):
        lines += ["__shared__ barrier b; barrier::arrival_token token;",
                  f"if (t == 0) init(&b, {count}); __syncthreads();"]  # fmt: skip
    if any(step[0] in ("count", "await") for step in steps):
        lines += ["__shared__ alignas(8) char room[sizeof(latch)]; latch& l = *(latch*)room;",
                  f"if (t == 0) new (room) latch({count}); __syncthreads();"]  # fmt: skip
    for step in steps:
        if step[0] == "barrier":
            lines.append("__syncthreads();")
            continue
        mask = sum(1 << t for t in step[1])
        each = {
            "warp": f"__syncwarp({mask});",
            "arrive": "token = b.arrive();",
            "count": "l.count_down();",
            "await": "l.wait();",
            "wait": "{ auto k = token; b.wait(std::move(k)); }",
            "spin": "for (;;) { auto k = token; if (b.try_wait(std::move(k))) break; }",
        }
        if step[0] in each:
            lines.append(f"if ({mask} >> t & 1) {each[step[0]]}")
        for t, what in step[1].items() if step[0] in ("access", "poll") else ():
            if step[0] == "access":
                lines.append(f"if (t == {t}) {CODE[what[0]].format(what[1])}")
            else:
                lines.append(f"if (t == {t}) {{ auto k = token;")
                lines.append(f"if (b.try_wait(std::move(k))) {CODE['r'].format(what)} }}")
    return "\n".join([*lines, "out[blockIdx.x * blockDim.x + t] = x;", "}"])


def operations_of_thread(steps, thread):
    """Returns the thread's operations. ("poll", ...) skips the access that follows if the phase has
    not ended."""
    path = []
    for i, step in enumerate(steps):
        if step[0] == "barrier":
            path.append(("barrier", i))
        elif thread in step[1] and step[0] == "access":
            path.append(step[1][thread])
        elif thread in step[1] and step[0] == "poll":
            path += [("poll", i), ("r", step[1][thread])]
        elif thread in step[1]:
            path.append((step[0], i))
    return path


def all_schedule_outcomes(program):
    """Visits all states. Returns the possible outcomes of schedules: "race" (the next accesses of two threads
    conflict), "deadlock"."""
    blocks, threads, count, steps = program
    paths = [operations_of_thread(steps, t) for t in range(threads)] * blocks
    start = ((0,) * len(paths), ((count, 0, count),) * blocks, (0,) * len(paths))
    todo, seen, found = [start], set(), set()
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        at, barriers, tokens = state
        following = [p[n] if n < len(p) else None for p, n in zip(paths, at)]
        accesses = [f for f in following if f and f[0] in CODE]
        for i, (a, v) in enumerate(accesses):
            if any(v == w and is_conflict(a, b) for b, w in accesses[i + 1 :]):
                found.add("race")
        more = list(successor_states(program, at, barriers, tokens, following))
        if not more and any(following):
            found.add("deadlock")
        todo += more
    return found


def is_conflict(a, b):
    return a + b != "rr" and not (a in ATOMICS and b in ATOMICS)


def successor_states(program, at, barriers, tokens, following):
    blocks, threads, count, steps = program
    step = lambda who, by=1: tuple(n + by * (k in who) for k, n in enumerate(at))
    for t, f in enumerate(following):
        block = t // threads
        pending, phase, left = barriers[block]
        is_over = phase != tokens[t]
        if f is None:
            continue
        ends = (f[0] in ("wait", "spin") and is_over) or (f[0] == "await" and left == 0)
        if f[0] in CODE or ends:
            yield step([t]), barriers, tokens
        elif f[0] == "count":
            now = (pending, phase, left - 1)
            yield step([t]), (*barriers[:block], now, *barriers[block + 1 :]), tokens
        elif f[0] == "poll":
            yield step([t], 1 if is_over else 2), barriers, tokens
        elif f[0] == "arrive":
            now = (pending - 1, phase, left) if pending > 1 else (count, phase + 1, left)
            yield (step([t]), (*barriers[:block], now, *barriers[block + 1 :]),
                   (*tokens[:t], phase, *tokens[t + 1 :]))  # fmt: skip
    for block in range(blocks):
        own = range(block * threads, (block + 1) * threads)
        for i, (kind, *who) in enumerate(steps):
            if kind in ("barrier", "warp"):
                members = own if kind == "barrier" else [block * threads + t for t in who[0]]
                if all(following[t] == (kind, i) for t in members):
                    yield step(members), barriers, tokens


def has_few_states(program):
    blocks, threads, _, steps = program
    states = 1
    for t in range(threads):
        states *= 1 + len(operations_of_thread(steps, t))
    return states**blocks <= STATES


PROGRAMS = [p for p in map(random_program, range(800)) if has_few_states(p)]


def verdict_and_error(kernel, program, budget=BUDGET):
    """Returns the verdict's kind, and the kind of the KernelError."""
    g, out = (cuda.to_device(np.zeros(n, np.int32)) for n in (VARIABLES, 8))
    checks, error = cuda.checks("race", "hang", exact=True, budget=budget), None
    try:
        with checks:
            kernel[program[0], program[1]](g, out)
    except KernelError as problem:
        error = problem
    return checks.verdict.kind, error and error.kind


def test_all_schedules_confirm_each_verdict():
    assert len(PROGRAMS) >= 300
    drawn = draw_cases(20, PROGRAMS)
    names = [f"program{i}" for i in range(len(drawn))]
    unit = cuda.module(HEAD + "\n".join(map(kernel_text, names, drawn)), opt=1)
    verdicts = set()
    for name, program in zip(names, drawn):
        verdict, error = verdict_and_error(unit[name], program)
        found = all_schedule_outcomes(program)
        if verdict == "depends on atomics" and found:
            verdict, error = verdict_and_error(unit[name], program, LARGE_BUDGET)
        described = (verdict, error, found, program, kernel_text(name, program))
        if verdict == "no schedule races":
            assert not found, described
        elif verdict == "races":
            assert "race" in found, described
        elif verdict == "undecided":
            assert error == "hang" and "deadlock" in found, described
        else:
            assert not found, described
        verdicts.add(verdict)
    assert {"races", "no schedule races"} <= verdicts
