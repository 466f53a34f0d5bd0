"""Which headers a source gets, and the record that a failed check leaves."""

import re
import struct
from pathlib import Path

from numbalite import fault, parts

CUDA_SRC = Path(__file__).resolve().parents[2] / "cuda_src"


def test_a_plain_source_gets_nothing():
    assert parts.parts_for({"i", "n", "x", "grid", "blockIdx", "array", "float", "printf"}) == []


def test_every_name_is_in_the_part_that_it_brings():
    for name, part in parts.PARTS.items():
        assert parts.parts_for({name}) == [part]
        text = (CUDA_SRC / parts.header(part)).read_text()
        if part == "math":
            text += (CUDA_SRC / parts.header("math_base")).read_text()
        assert re.search(rf"\b{name}\b", text) or name.endswith("half2")  # cuda_fp16.h's own


def test_parts_come_in_a_fixed_order():
    names = {"xoroshiro128p_next", "complex64", "tuple", "sin", "this_grid", "array", "C"}
    assert parts.parts_for(names) == ["math", "complex", "tuple", "random", "groups", "layout"]


def test_a_prologue_has_the_mathematical_functions_that_are_named():
    assert parts.prologue(set()) == '#include "numbalite.cuh"\n'
    lines = parts.prologue({"sin", "max", "complex", "x"}).splitlines()
    assert lines == [
        '#include "numbalite.cuh"',
        '#include "numbalite/math_base.cuh"',
        '#include "numbalite/complex.cuh"',
        "namespace numbalite { NUMBALITE_MATH_INTEGER(sin) NUMBALITE_MATH_MIXED(max, product) }",
    ]


def test_math_has_what_a_prologue_can_name():
    text = (CUDA_SRC / parts.header("math")).read_text()
    everything = parts.prologue({name for name, part in parts.PARTS.items() if part == "math"})
    made = re.findall(r"NUMBALITE_MATH_\w+\(\w+(?:, \w+)?\)", everything)
    assert sorted(made) == sorted(re.findall(r"^NUMBALITE_MATH_\w+\(.*\)", text, re.M))


def test_the_layouts_short_names_come_only_with_array():
    assert parts.parts_for({"C", "F"}) == []
    assert parts.parts_for({"array", "F"}) == ["layout"]


def test_the_toolkits_own_header_takes_the_place_of_a_part():
    names = {"cooperative_groups", "this_grid", "INT_MAX"}
    assert parts.parts_for(names) == ["limits", "groups"]
    assert parts.parts_for(names, ["cooperative_groups.h"]) == ["limits"]
    assert parts.parts_for(names, ["cooperative_groups/reduce.h", "climits"]) == []


def test_every_part_is_a_file():
    for part in {*parts.ORDER, "layout", "describe", "check", "array", "index", "random_init"}:
        assert (CUDA_SRC / parts.header(part)).is_file()
    assert (CUDA_SRC / parts.HEAD).is_file()


def record(
    kind, line=0, block=(0, 0, 0), thread=(0, 0, 0), numbers=(0,) * 8, texts=(b"", b"", b"")
):
    return struct.pack(fault.FORMAT, kind, line, *block, *thread, *numbers, *texts)


def test_no_fault():
    assert fault.SIZE == 256
    assert fault.decode(bytes(256))["kind"] is None


def test_an_index_out_of_bounds():
    numbers = (2, 1, -7, 5, 4, 5, 0, 0)
    data = record(1, 12, (3, 2, 1), (9, 8, 7), numbers, (b"table\0rest", b"", b"lesson.py"))
    found = fault.decode(data)
    assert found == {
        "kind": "index",
        "file": "lesson.py",
        "line": 12,
        "block": (3, 2, 1),
        "thread": (9, 8, 7),
        "array": "table",
        "shape": (4, 5),
        "ndim": 2,
        "axis": 1,
        "index": -7,
        "extent": 5,
    }
    assert fault.message(found, "poke") == (
        "poke: index -7 is out of bounds for axis 1 of 'table' with shape (4, 5) "
        "[block (3, 2, 1), thread (9, 8, 7)]"
    )


def test_messages_of_arrays_without_a_name_and_with_many_dimensions():
    data = record(1, numbers=(1, 0, 3, 3, 3, 0, 0, 0))
    assert "an array with shape (3,)" in fault.message(fault.decode(data))
    data = record(1, numbers=(6, 5, 3, 3, 1, 2, 3, 4))
    assert "with shape (1, 2, 3, 4, ...)" in fault.message(fault.decode(data))


def test_a_failed_assertion():
    data = record(2, 5, texts=(b"kernel", b"x > 0", b"a.py"))
    found = fault.decode(data)
    assert (found["condition"], found["function"], found["line"]) == ("x > 0", "kernel", 5)
    assert "assertion `x > 0` failed" in fault.message(found)


def test_the_record_is_laid_out_as_the_device_writes_it():
    text = (CUDA_SRC / parts.header("check")).read_text()
    declared = re.search(r"struct fault_record \{(.*?)\n\};", text, re.S)[1]
    declared = re.sub(r"/\*.*?\*/", "", declared)
    sizes = {"int": "i", "unsigned": "I", "int64": "q", "char": "s"}
    layout = "<"
    for kind, names in re.findall(r"(\w+) ([^;]+);", declared):
        for name in names.split(","):
            count = re.search(r"\[(\d+)\]", name)
            layout += (count[1] if count else "1") + sizes[kind]
    assert struct.calcsize(layout) == fault.SIZE
    expanded = re.sub(r"(\d+)([iIq])", lambda m: m[2] * int(m[1]), layout)
    assert expanded == re.sub(r"(\d+)([iIq])", lambda m: m[2] * int(m[1]), fault.FORMAT)
