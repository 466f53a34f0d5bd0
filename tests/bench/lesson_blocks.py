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


def block_count(count, threads):
    return -(-count // threads)


def random_device_array(*shape):
    return cuda.to_device(np.random.default_rng(1).random(shape, np.float32))


def square_array_maker(count, side):
    """Returns a function that creates `count` square arrays."""
    return lambda: [random_device_array(side, side) for _ in range(count)]


def vector_maker(*sizes):
    return lambda: [random_device_array(size) for size in sizes]


def square_block_launch(side, name):
    """Returns a launch of square blocks, whose side is the constant `name`."""

    def launch(**constants):
        block = constants[name]
        return (block_count(side, block), block_count(side, block)), (block, block)

    return launch


THREADS = [32, 64, 128, 256, 512, 1024]
SIDES = [4, 8, 16, 32]
SHARED = "3_shared_memory"
COUNT = 1 << 24

LESSONS = [
    Lesson(
        "2_kernels/01_grid_blocks_threads", "vadd",
        {"BLOCK": THREADS}, {"BLOCK": 32},
        lambda BLOCK, **_: (block_count(COUNT, BLOCK), BLOCK), vector_maker(COUNT, COUNT, COUNT),
    ),
    Lesson(
        f"{SHARED}/01_grids_and_coalescing", "copy_along_rows",
        {"X": [8, 16, 32, 64, 128], "Y": [1, 2, 4, 8]}, {"X": 32, "Y": 8},
        lambda X, Y, **_: ((block_count(8192, X), block_count(8192, Y)), (X, Y)), square_array_maker(2, 8192),
    ),
    Lesson(
        f"{SHARED}/02_tiling", "matmul_tiled",
        {"TILE": SIDES}, {"TILE": 32}, square_block_launch(4800, "TILE"), square_array_maker(3, 4800),
    ),
    Lesson(
        f"{SHARED}/03_transposition_and_banks", "transpose_tile",
        {"ROWS": [1, 2, 4, 8, 16, 32]}, {"ROWS": 8},
        lambda ROWS, **_: ((256, 256), (32, ROWS)), square_array_maker(2, 8192),
        {"TILE": 32, "WIDTH": 33},
    ),
    Lesson(
        f"{SHARED}/04_stencils", "diffuse",
        {"TPB": SIDES}, {"TPB": 8}, square_block_launch(2000, "TPB"), square_array_maker(3, 2000),
        {"COEFFICIENT": 0.25}, ("at",),
    ),
    Lesson(
        f"{SHARED}/05_reductions", "sum_tree",
        {"THREADS": THREADS}, {"THREADS": 256},
        lambda THREADS, **_: (block_count(COUNT, THREADS), THREADS), vector_maker(COUNT, 1),
    ),
    Lesson(
        f"{SHARED}/05_reductions", "sum_shuffle",
        {"THREADS": THREADS}, {"THREADS": 256},
        lambda THREADS, **_: (8 * 132, THREADS), vector_maker(COUNT, 1), None, ("warp_sum",),
    ),
    Lesson(
        f"{SHARED}/05_reductions", "matmul_reduce",
        {"SIDE": SIDES}, {"SIDE": 16},
        square_block_launch(2048, "SIDE"), lambda: [random_device_array(2048, 2048), random_device_array(2048, 2048), random_device_array(2048)],
    ),
]  # fmt: skip


def notebook_functions(notebook):
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
    sources = notebook_functions(lesson.notebook)
    names = {"cuda": cuda, "np": np, **(lesson.constants or {}), **lesson.choice}
    for name in (*lesson.helpers, lesson.kernel):
        exec(sources[name], names)
    return cuda.autotune(over=lesson.over, prune=False)(names[lesson.kernel])


def compare_block_sizes(lesson):
    """Returns (the fastest block size, the time of the lesson's divided by its time)."""
    kernel = tuned_kernel(lesson)
    kernel[lesson.launch](*lesson.arguments())
    trials = {tuple(sorted(t.constants.items())): t for t in kernel.tuning if t.time is not None}
    best = kernel.tuning.best
    chosen = trials[tuple(sorted(lesson.choice.items()))]
    return best.constants, chosen.time / best.time


def constants_text(constants):
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
        best, ratio = compare_block_sizes(lesson)
        print(
            f"| `{lesson.kernel}` | {constants_text(lesson.choice)} | {constants_text(best)} | {ratio:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
