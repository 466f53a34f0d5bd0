"""The generated kernels of reductions and scans compile for GPUs, for every kind of number."""

import numpy as np
import pytest
from kit.sample import draw_cases

from numbalite.functions import nans, onepass, reductions
from numbalite.linalg import norms
from numbalite.ufuncs import element, reduceloops

KINDS = (
    "packed8",
    "strided8",
    "columns4",
    "teams4",
    "short_packed4",
    "short_strided2",
    "gapped_packed8",
    "gapped_stepped4",
    "stripes4x8",
    "staged_columns",
    "narrow4",
    "serial",
    "scan_serial",
    "scan_rows",
    "scan_warps4x2",
    "scan_tiles1x4",
    "scan_columns",
    "at_in_order",
)


def compile_reduction(nvrtc, builder, arch, options=(), to="compute"):
    """Compiles to PTX, because the assembler needs half of the time.
    test_reductions_compile_for_oldest_and_newest_gpu runs the assembler for each type of loop."""
    result = nvrtc(builder.join_source(), arch, options, to=to)
    assert result.status == 0, result.log
    assert bool(result.cubin) == (to == "sm")


def make_sum_loops():
    function = element.element_function(source="a + b", args="a, b", what="reduction")
    return reduceloops.Loops(lambda dtype: function, "total")


@pytest.fixture(scope="module")
def sum_loops():
    return make_sum_loops()


@pytest.mark.parametrize("kind", KINDS)
def test_reductions_compile_for_oldest_and_newest_gpu(compile_with_nvrtc, sum_loops, kind):
    f4 = np.dtype("f4")
    for arch in draw_cases(
        1, (compile_with_nvrtc.architectures[0], compile_with_nvrtc.architectures[-1])
    ):
        compile_reduction(
            compile_with_nvrtc, sum_loops.generate_kernel(kind, f4, f4, f4)[0], arch, to="sm"
        )


@pytest.mark.parametrize(
    "kind, last",
    [
        ("packed8", "packed8"),
        ("strided8", "strided8"),
        ("narrow4", "narrow4"),
        ("gapped_packed8", "packed8"),
    ],
)
def test_last_block_reduction_kernels_compile(compile_with_nvrtc, sum_loops, kind, last):
    f4, f8, i4 = map(np.dtype, ("f4", "f8", "i4"))
    masked = kind == "strided8"
    made = sum_loops.generate_kernel(kind, f4, f4, f4, masked, last=last)[0]
    for arch in draw_cases(
        1, (compile_with_nvrtc.architectures[0], compile_with_nvrtc.architectures[-1])
    ):
        compile_reduction(compile_with_nvrtc, made, arch, to="sm")
    compile_reduction(
        compile_with_nvrtc, sum_loops.generate_kernel(kind, i4, f8, f4, masked, last=last)[0], 90
    )


@pytest.mark.parametrize("kind", ["columns", "narrow"])
@pytest.mark.parametrize("code", "bhfdD")
def test_all_widths_of_columns_are_in_one_image(compile_with_nvrtc, kind, code):
    """The width of a schedule depends on the shape, but a new shape compiles no further kernel unless
    only two kernels exist."""
    loops = make_sum_loops()
    stored, wide = np.dtype(code), np.dtype("D" if code == "D" else "d")
    widths = [width for width in (1, 2, 4, 8, 16) if width * stored.itemsize <= 16]
    made = [loops.loop(f"{kind}{width}", stored, wide, stored)._kernel.images for width in widths]
    names = [f"nl_{kind}{width}" for width in widths] + ["nl_serial"] * (kind == "columns")
    if len(names) == 2:
        assert [images.source.kernels for images in made] == [
            (name,) for name in names[: len(made)]
        ]
        return
    assert all(images is made[0] for images in made)
    assert made[0].source.kernels == tuple(names)
    arch = draw_cases(
        1, (compile_with_nvrtc.architectures[0], compile_with_nvrtc.architectures[-1])
    )[0]
    result = compile_with_nvrtc(made[0].source.text, arch)
    assert result.status == 0, result.log


@pytest.mark.parametrize(
    "kind",
    [("teams4", "teams8"), ("short_packed2", "short_packed4"), ("stripes1x8", "stripes4x2"),
             ("gapped_stepped8", "gapped_stepped2")],
)  # fmt: skip
def test_all_widths_of_a_kind_compile_together(compile_with_nvrtc, kind):
    f4, loops = np.dtype("f4"), make_sum_loops()
    first, second = (loops.loop(one, f4, f4, f4)._kernel.images for one in kind)
    assert first.source.kernels == (f"nl_{kind[0]}",)
    images = second
    assert f"nl_{kind[1]}" in images.source.kernels and len(images.source.kernels) >= 3
    arch = draw_cases(
        1, (compile_with_nvrtc.architectures[0], compile_with_nvrtc.architectures[-1])
    )[0]
    result = compile_with_nvrtc(images.source.text, arch)
    assert result.status == 0, result.log


@pytest.mark.parametrize("code", "bhiqdF")
def test_pipelined_scan_kernels_compile(compile_with_nvrtc, sum_loops, code):
    """Bulk copies need compute capability 9.0."""
    dtype = np.dtype(code)
    made = sum_loops.generate_kernel(f"pipelined_scan{16 // dtype.itemsize}", dtype, dtype, dtype)[
        0
    ]
    for arch in (90, compile_with_nvrtc.architectures[-1]):
        compile_reduction(compile_with_nvrtc, made, arch, to="sm")


@pytest.mark.parametrize("kind", ["serial", "rows", "warps4x1", "tiles4x2", "columns"])
@pytest.mark.parametrize("stored, result, vec", [("f4", "f4", 3), ("u1", "i8", 2), ("i2", "i2", 8)])
def test_vectorized_scan_kernels_compile(compile_with_nvrtc, sum_loops, kind, stored, result, vec):
    stored, result = np.dtype(stored), np.dtype(result)
    made = sum_loops.generate_kernel(
        f"scan_{kind}", stored, result, result, exclusive=True, vec=vec
    )[0]
    compile_reduction(compile_with_nvrtc, made, 90)


@pytest.mark.parametrize("code", "?bhiqBHIQdFD")
def test_reduction_kernels_of_each_dtype_compile(compile_with_nvrtc, sum_loops, code):
    dtype, f8 = np.dtype(code), np.dtype("f8")
    for kind in (
        "packed8",
        "scan_tiles1x4",
        "scan_rows",
        "scan_warps1x4",
        "scan_columns",
        "teams8",
        "short_packed2",
        "stripes2x4",
        "staged_columns",
        "narrow1",
    ):
        compile_reduction(
            compile_with_nvrtc, sum_loops.generate_kernel(kind, dtype, dtype, dtype)[0], 90
        )
    compile_reduction(
        compile_with_nvrtc, sum_loops.generate_kernel("packed8", dtype, f8, np.dtype("i2"))[0], 90
    )
    compile_reduction(
        compile_with_nvrtc, sum_loops.generate_kernel("strided8", f8, dtype, dtype)[0], 90
    )
    compile_reduction(
        compile_with_nvrtc,
        sum_loops.generate_kernel(f"columns{16 // dtype.itemsize}", dtype, dtype, f8)[0],
        90,
    )
    compile_reduction(
        compile_with_nvrtc,
        sum_loops.generate_kernel("serial", f8, dtype, dtype, masked=True, wide=True)[0],
        90,
    )
    compile_reduction(
        compile_with_nvrtc,
        sum_loops.generate_kernel("packed8", dtype, dtype, f8, cached=True)[0],
        90,
    )


def _variance_reductions(stored, wide, is_root):
    if stored.char in "bBhHiI":
        return reductions.integer_variance_loops(is_root)
    return reductions.variance_loops(wide, np.dtype(wide.char.lower()), is_root)


def _kernels_of_reduction(name, stored, wide):
    """Returns the kernels that one of NumPy's reductions uses."""
    real = np.dtype(wide.char.lower())
    return {
        "sum": lambda: onepass.sum_loops(stored, wide),
        "prod": lambda: onepass.product_loops(wide),
        "mean": lambda: reductions._mean_loops(stored, wide, wide),
        "var": lambda: _variance_reductions(stored, wide, False),
        "std": lambda: _variance_reductions(stored, wide, True),
        "nansum": lambda: nans._sum_loops(stored, wide, wide),
        "nanmean": lambda: nans._mean_loops(stored, wide, wide),
        "nanstd": lambda: reductions.variance_loops(wide, real, True, True),
        "norm": lambda: norms._norm_loops(stored),
        "count": lambda: reductions._count_loops(),
    }[name]()


@pytest.mark.parametrize("code", ["ff", "dd", "FF", "DD", "bd", "Hd", "id", "qd"])
@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "var", "std", "nansum", "nanmean", "nanstd", "norm", "count"]
)
def test_library_reduction_operations_compile(compile_with_nvrtc, name, code):
    """GPUs with slow double precision use other accumulator types."""
    for arch in draw_cases(1, [75, 90], f"{name} {code}"):
        check_operation(compile_with_nvrtc, name, code, arch)


def check_operation(nvrtc, name, code, arch):
    stored, wide = map(np.dtype, code)
    if stored.char not in "fdFD" and "nan" in name:
        return
    loops, result = _kernels_of_reduction(name, stored, wide), np.dtype(wide.char.lower())
    result = wide if name in ("sum", "prod", "mean", "nansum", "nanmean") else result
    loop = loops.loop_dtype
    for kind, last in ("packed8", "packed8"), ("columns1", ""), ("narrow1", "narrow1"):
        made = loops.generate_kernel(kind, stored, loop, loop if last else result, last=last)[0]
        compile_reduction(nvrtc, made, arch)
    size = f'static_assert(sizeof(nl_function::value) <= {loop.itemsize}, "");\n'
    made = loops.generate_kernel("packed8", stored, loop, result)[0]
    made.write_generated(size)
    compile_reduction(nvrtc, made, arch)


def test_noncommutative_reductions_compile(compile_with_nvrtc):
    """Operations that may not be commutative have separate kernels."""
    function = element.element_function(source="(a + b)", args="a, b", what="reduction")
    loops = reduceloops.Loops(lambda dtype: function, "total")
    for dtype in map(np.dtype, draw_cases(1, "bfD")):
        made = loops.generate_kernel("packed8", dtype, dtype, dtype)[0]
        assert "commutes = false" in made.join_source()
        compile_reduction(compile_with_nvrtc, made, 90)


def test_half_reductions_compile(compile_with_nvrtc, sum_loops, toolkit_options):
    half = np.dtype("f2")
    for other in draw_cases(2, "?bqQdF"):
        dtype = np.dtype(other)
        for kinds in ((half, dtype, half), (dtype, half, dtype)):
            compile_reduction(
                compile_with_nvrtc,
                sum_loops.generate_kernel("packed8", *kinds)[0],
                90,
                toolkit_options,
            )
    for kind in draw_cases(4, KINDS):
        compile_reduction(
            compile_with_nvrtc,
            sum_loops.generate_kernel(kind, half, half, half)[0],
            90,
            toolkit_options,
        )


def test_unary_at_kernels_compile(compile_with_nvrtc, sum_loops):
    function = element.element_function(source="-a", args="a", what="ufunc")
    sum_loops = reduceloops.Loops(lambda dtype: function, "negated")
    f4 = np.dtype("f4")
    compile_reduction(
        compile_with_nvrtc, sum_loops.generate_kernel("at_in_order", f4, f4, f4, unary=True)[0], 90
    )


def test_select_and_by_key_kernels_compile(compile_with_nvrtc, sum_loops):
    choose = element.element_function(source="x > 0", args="x", what="selection")
    choosing = reduceloops.Loops(lambda dtype: choose, "positive")
    record = np.dtype([("key", "i2"), ("value", "f8", 3)], align=True)
    f4, i8 = np.dtype("f4"), np.dtype("i8")
    kinds = ("values16", "indices16", "halves16", "spread16", "cover16")
    for kind in (*(f"select_{kind}" for kind in kinds), "reverse_rest"):
        for masked in (False, True) if kind.startswith("select_v") else (False,):
            compile_reduction(
                compile_with_nvrtc, choosing.generate_kernel(kind, f4, f4, f4, masked)[0], 90
            )
    compile_reduction(compile_with_nvrtc, sum_loops.generate_kernel("by_key8", f4, f4, i8)[0], 90)
    latest = element.element_function(source="a.key > b.key ? a : b", args="a, b", what="scan")
    scanning = reduceloops.Loops(lambda dtype: latest, "latest")
    compile_reduction(
        compile_with_nvrtc, scanning.generate_kernel("scan_tiles1x2", record, record, record)[0], 90
    )
    compile_reduction(
        compile_with_nvrtc, scanning.generate_kernel("by_key1", i8, record, i8)[0], 90
    )
