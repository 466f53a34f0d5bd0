"""The programs in README.md run one after the other, and print the output in it."""

import linecache
import pathlib
import re
import warnings

import numpy as np

from numbalite import cuda
from numbalite.compilers import host, hostbuild

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
# Matches a program, and its expected output if a block without a language follows.
PROGRAM = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```\n)?", re.S)


def without_unspecified_numbers(text):
    """The threads and elements in a report are unspecified, and so is the number of further
    reports."""
    text = re.sub(r"\s\(and \d+ more, in \d+ places?\)", "", text)
    if (
        hostbuild.identify_compiler(host.find_compiler()).family == "gcc"
    ):  # the simulator detects another race first
        text = re.sub(r"thread \(.*", "", text)
    return re.sub(r"\(\d+,\d+,\d+\)|\[\d+\]", "#", text)


def test_readme_programs_run(optimized_host_code, capsys):
    programs = PROGRAM.findall(README.read_text())
    assert programs
    printing = 0
    names = {}  # the programs run if they are pasted in order
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (program, printed) in enumerate(programs):
            if "cuda.checks" in program and not cuda.is_simulated():
                continue
            file = "lesson.py" if printed else f"<README.md, example {number + 1}>"
            linecache.cache[file] = (len(program), None, program.splitlines(True), file)
            capsys.readouterr()
            exec(compile(program, file, "exec"), names)
            if printed:
                assert without_unspecified_numbers(
                    capsys.readouterr().out
                ) == without_unspecified_numbers(printed)
                printing += 1
    assert printing or not cuda.is_simulated()
    np.testing.assert_array_equal(names["out"], names["a"] * 2.5)
    np.testing.assert_array_equal(names["y"], 2 * names["x"])
