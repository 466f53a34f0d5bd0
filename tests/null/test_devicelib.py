"""Tests which headers numbalite includes in a source, and the record that a failed check writes."""

import re
import struct
from pathlib import Path

import pytest

from numbalite.cxx import devicelib
from numbalite.kernels import fault

CUDA_SRC = Path(__file__).resolve().parents[2] / "cuda_src"


def test_plain_sources_get_no_prologue():
    assert (
        devicelib.library_parts({"i", "n", "x", "grid", "blockIdx", "array", "float", "printf"})
        == []
    )


def test_every_name_is_declared_in_its_header():
    for name, part in devicelib.PARTS.items():
        assert devicelib.library_parts({name}) == [part]
        text = (CUDA_SRC / devicelib.header_name(part)).read_text()
        if part == "math":
            for header in ("math_base", "math_constants"):
                text += (CUDA_SRC / devicelib.header_name(header)).read_text()
        elsewhere = name.endswith(("half2", "4_16a"))  # names of cuda_fp16.h, or built by a macro
        assert re.search(rf"\b{name}\b", text) or elsewhere


def test_headers_are_included_in_a_fixed_order():
    names = {"xoroshiro128p_next", "complex64", "tuple", "sin", "this_grid", "array", "C"}
    assert devicelib.library_parts(names) == [
        "math",
        "complex",
        "tuple",
        "random",
        "groups",
        "layout",
    ]


def test_prologue_declares_the_named_math_functions():
    assert devicelib.prologue_text(set()) == '#include "numbalite.cuh"\n'
    lines = devicelib.prologue_text({"sin", "max", "complex", "x"}).splitlines()
    assert lines == [
        '#include "numbalite.cuh"',
        '#include "numbalite/math_base.cuh"',
        '#include "numbalite/complex.cuh"',
        "namespace numbalite { NUMBALITE_MATH_INTEGER(sin) NUMBALITE_MATH_MIXED(max, product) }",
    ]


def test_math_header_declares_all_prologue_functions():
    text = (CUDA_SRC / devicelib.header_name("math")).read_text()
    everything = devicelib.prologue_text(
        {name for name, part in devicelib.PARTS.items() if part == "math"}
    )
    made = re.findall(r"NUMBALITE_MATH_\w+\(\w+(?:, \w+)?\)", everything)
    assert sorted(made) == sorted(re.findall(r"^NUMBALITE_MATH_\w+\(.*\)", text, re.M))


def test_layout_names_are_declared_only_with_array():
    assert devicelib.library_parts({"C", "F"}) == []
    assert devicelib.library_parts({"array", "F"}) == ["layout"]


def test_toolkit_headers_replace_library_headers():
    names = {"cooperative_groups", "this_grid", "INT_MAX"}
    assert devicelib.library_parts(names) == ["limits", "groups"]
    assert devicelib.library_parts(names, ["cooperative_groups.h"]) == ["limits"]
    assert devicelib.library_parts(names, ["cooperative_groups/reduce.h", "climits"]) == ["limits"]


def test_every_library_header_exists():
    for part in {*devicelib.ORDER, "layout", "describe", "check", "array", "index", "random_init"}:
        assert (CUDA_SRC / devicelib.header_name(part)).is_file()
    assert (CUDA_SRC / devicelib.HEAD).is_file()


def packed_fault_record(
    kind,
    line=0,
    block=(0, 0, 0),
    thread=(0, 0, 0),
    numbers=(0,) * 8,
    texts=(b"", b"", b""),
    address=0,
    count=1,
):
    return struct.pack(fault.FORMAT, kind, line, *block, *thread, *numbers, address, count, *texts)


def test_zeroed_record_contains_no_fault():
    assert fault.SIZE == 336
    assert fault.decode_record(bytes(512))["kind"] is None


def test_out_of_bounds_record_is_decoded():
    numbers = (2, 1, -7, 5, 4, 5, 0, 0)
    texts = (b"", b"", b"lesson.py\0rest")
    data = packed_fault_record(1, 12, (3, 2, 1), (9, 8, 7), numbers, texts, 4096, 3)
    found = fault.decode_record(data)
    assert found == {
        "kind": "index",
        "file": "lesson.py",
        "line": 12,
        "block": (3, 2, 1),
        "thread": (9, 8, 7),
        "others": 2,
        "address": 4096,
        "shape": (4, 5),
        "ndim": 2,
        "axis": 1,
        "index": -7,
        "extent": 5,
    }
    fault.name_array(found, [("x", 0, (), (), 1), ("table", 4096, (4, 5), (20, 4), 4)])
    assert fault.fault_message(found, "poke") == (
        "poke: index -7 is out of bounds for axis 1 of 'table' with shape (4, 5) "
        "[block (3, 2, 1), thread (9, 8, 7); 2 more threads failed a check]"
    )


class InterfaceObject:
    def __init__(self, **fields):
        self.__cuda_array_interface__ = {"version": 3, "typestr": "<f4", **fields}


@pytest.mark.parametrize(
    ("address", "ndim", "shape", "expected"),
    [
        (1000, 1, (4,), ("a", False)),
        (1000, 1, (2,), ("first", False)),  # shares its memory with `a` but has another shape
        (1004, 1, (2,), ("a", False)),
        (2000, 1, (5,), ("b", True)),  # a row
        (2060, 2, (1, 5), ("b", False)),
        (2080, 1, (1,), (None, None)),
        (2999, 1, (8,), ("down", False)),
        (2971, 1, (8,), ("down", False)),
        (5000, 2, (0, 3), ("empty", False)),
        (6000, 1, (9,), ("pointer", False)),
        (6004, 1, (9,), (None, None)),
        (7008, 2, (2, 3), ("torch", False)),
        (8000, 1, (3,), (None, None)),
    ],
)
def test_out_of_bounds_message_names_the_array(address, ndim, shape, expected):
    arguments = [
        ("a", 1000, (4,), (4,), 4),
        ("first", 1000, (2,), (4,), 4),
        ("b", 2000, (4, 5), (20, 4), 4),
        ("down", 2999, (8,), (-4,), 4),
        ("empty", 5000, (0, 3), (12, 4), 4),
        ("pointer", 6000, (), (), 1),
        ("torch", InterfaceObject(shape=(2, 3), data=(7008, False), strides=None)),
        ("odd", InterfaceObject(shape=(2, 3), data=(8000, False), strides=(1,))),
        ("odd", InterfaceObject(shape=None)),
        ("odd", 5),
    ]
    found = {"kind": "index", "address": address, "ndim": ndim, "shape": shape}
    fault.name_array(found, arguments)
    assert (found.get("array"), found.get("is_part")) == expected


def test_out_of_bounds_messages_of_unnamed_arrays():
    data = packed_fault_record(1, numbers=(1, 0, 3, 3, 3, 0, 0, 0))
    assert "an array with shape (3,)" in fault.fault_message(fault.decode_record(data))
    data = packed_fault_record(1, numbers=(6, 5, 3, 3, 1, 2, 3, 4))
    assert "with shape (1, 2, 3, 4, ...)" in fault.fault_message(fault.decode_record(data))


def test_assert_record_is_decoded():
    data = packed_fault_record(2, 5, texts=(b"kernel", b"x > 0", b"a.py"))
    found = fault.decode_record(data)
    assert (found["condition"], found["function"], found["line"]) == ("x > 0", "kernel", 5)
    assert "assertion `x > 0` failed" in fault.fault_message(found)
    assert "more" not in fault.fault_message(found)


def test_trap_record_is_decoded():
    found = fault.decode_record(packed_fault_record(3, 5, texts=(b"kernel", b"", b"a.py"), count=2))
    assert fault.fault_message(found) == (
        "__trap() was called [block (0, 0, 0), thread (0, 0, 0); 1 more thread failed a check]"
    )


def test_fault_record_layout_matches_the_device_struct():
    text = (CUDA_SRC / devicelib.header_name("check")).read_text()
    declared = re.search(r"struct fault_record \{(.*?)\n\};", text, re.S)[1]
    declared = re.sub(r"/\*.*?\*/", "", declared)
    sizes = {"int": "i", "unsigned": "I", "int64": "q", "uint64": "Q", "char": "s"}
    layout = "<"
    for kind, names in re.findall(r"(\w+) ([^;]+);", declared):
        for name in names.split(","):
            count = re.search(r"\[(\d+)\]", name)
            layout += (count[1] if count else "1") + sizes[kind]
    assert struct.calcsize(layout) == fault.SIZE
    expanded = re.sub(r"(\d+)([iIqQ])", lambda m: m[2] * int(m[1]), layout)
    assert expanded == re.sub(r"(\d+)([iIqQ])", lambda m: m[2] * int(m[1]), fault.FORMAT)
