"""Tunes the block sizes of the lessons' kernels, and compares the lessons' choices with the fastest.

    python tests/bench/lesson_blocks.py [--only diffuse,sum_tree]

Needs a GPU. The kernels are read from the notebooks. `cuda.autotune` measures all block sizes of a
kernel, which include the lesson's. Prints a Markdown table for docs/tuning.md.
"""

from __future__ import annotations

import argparse
import ast
import json
import pathlib
import textwrap
from typing import NamedTuple

import numpy as np

from numbalite import cuda

NOTEBOOKS = pathlib.Path(__file__).resolve().parents[2] / "notebooks"


class Lesson(NamedTuple):
    """A kernel of a lesson. launch(sizes, **constants) returns the grid and the block; ``constants`` are the
    compile-time constants of the kernel that are not tuned."""

    notebook: str
    kernel: str
    over: dict
    choice: dict
    launch: object
    arguments: object
    constants: dict | None = None
    helpers: tuple = ()


def blocks(count, threads):
    return -(-count // threads)


def random(*shape):
    return cuda.to_device(np.random.default_rng(1).random(shape, np.float32))


def arrays(count, side):
    """Returns a function that creates `count` square arrays."""
    return lambda: [random(side, side) for _ in range(count)]


def vectors(*sizes):
    return lambda: [random(size) for size in sizes]


def of_squares(side, name):
    """Returns a launch of square blocks, whose side is the constant `name`."""

    def launch(**constants):
        block = constants[name]
        return (blocks(side, block), blocks(side, block)), (block, block)

    return launch


THREADS = [32, 64, 128, 256, 512, 1024]
SIDES = [4, 8, 16, 32]
SHARED = "3_shared_memory"
COUNT = 1 << 24

LESSONS = [
    Lesson(
        "2_kernels/01_grid_blocks_threads", "vadd",
        {"BLOCK": THREADS}, {"BLOCK": 32},
        lambda BLOCK, **_: (blocks(COUNT, BLOCK), BLOCK), vectors(COUNT, COUNT, COUNT),
    ),
    Lesson(
        f"{SHARED}/01_grids_and_coalescing", "copy_along_rows",
        {"X": [8, 16, 32, 64, 128], "Y": [1, 2, 4, 8]}, {"X": 32, "Y": 8},
        lambda X, Y, **_: ((blocks(8192, X), blocks(8192, Y)), (X, Y)), arrays(2, 8192),
    ),
    Lesson(
        f"{SHARED}/02_tiling", "matmul_tiled",
        {"TILE": SIDES}, {"TILE": 32}, of_squares(4800, "TILE"), arrays(3, 4800),
    ),
    Lesson(
        f"{SHARED}/03_transposition_and_banks", "transpose_tile",
        {"ROWS": [1, 2, 4, 8, 16, 32]}, {"ROWS": 8},
        lambda ROWS, **_: ((256, 256), (32, ROWS)), arrays(2, 8192),
        {"TILE": 32, "WIDTH": 33},
    ),
    Lesson(
        f"{SHARED}/04_stencils", "diffuse",
        {"TPB": SIDES}, {"TPB": 8}, of_squares(2000, "TPB"), arrays(3, 2000),
        {"COEFFICIENT": 0.25}, ("at",),
    ),
    Lesson(
        f"{SHARED}/05_reductions", "sum_tree",
        {"THREADS": THREADS}, {"THREADS": 256},
        lambda THREADS, **_: (blocks(COUNT, THREADS), THREADS), vectors(COUNT, 1),
    ),
    Lesson(
        f"{SHARED}/05_reductions", "sum_shuffle",
        {"THREADS": THREADS}, {"THREADS": 256},
        lambda THREADS, **_: (8 * 132, THREADS), vectors(COUNT, 1), None, ("warp_sum",),
    ),
    Lesson(
        f"{SHARED}/05_reductions", "matmul_reduce",
        {"SIDE": SIDES}, {"SIDE": 16},
        of_squares(2048, "SIDE"), lambda: [random(2048, 2048), random(2048, 2048), random(2048)],
    ),
]  # fmt: skip


def functions(notebook):
    """Returns {name: source} of all functions in the code cells of a notebook, without indentation."""
    found = {}
    for cell in json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text())["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] != "code" or "cuda.jit" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                rows = text.split("\n")[first - 1 : node.end_lineno]
                found.setdefault(node.name, textwrap.dedent("\n".join(rows)))
    return found


def tuned_kernel(lesson):
    """Returns the lesson's kernel, tuned over its block sizes."""
    sources = functions(lesson.notebook)
    names = {"cuda": cuda, "np": np, **(lesson.constants or {}), **lesson.choice}
    for name in (*lesson.helpers, lesson.kernel):
        exec(sources[name], names)
    return cuda.autotune(over=lesson.over, prune=False)(names[lesson.kernel])


def compare(lesson):
    """Returns (the fastest block size, the time of the lesson's divided by its time)."""
    kernel = tuned_kernel(lesson)
    kernel[lesson.launch](*lesson.arguments())
    trials = {tuple(sorted(t.constants.items())): t for t in kernel.tuning if t.time is not None}
    best = kernel.tuning.best
    chosen = trials[tuple(sorted(lesson.choice.items()))]
    return best.constants, chosen.time / best.time


def words(constants):
    return ", ".join(f"{name} = {value}" for name, value in constants.items())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="kernels, separated by commas")
    only = parser.parse_args().only
    print(
        "| kernel | lesson | fastest | time of the lesson's choice, fastest = 1 |\n|---|---|---|---|"
    )
    for lesson in LESSONS:
        if only and lesson.kernel not in only.split(","):
            continue
        best, ratio = compare(lesson)
        print(
            f"| `{lesson.kernel}` | {words(lesson.choice)} | {words(best)} | {ratio:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
