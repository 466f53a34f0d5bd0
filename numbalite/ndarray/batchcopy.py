"""Returns the kernels that copy elements between two layouts. C code plans the copies, and calls these functions for
the first copy with each kernel (cext/py/copykernel.c)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numbalite.ndarray import above, copyplan

if TYPE_CHECKING:
    from typing import Any


def join_kernel(size: int, ndim: int, count: int) -> Any:
    """Returns the kernel of several copies to one array, with words of `size` bytes."""
    return _builtin_kernel(kernel_source(count), f"join<{copyplan.WORDS[size].name}, {ndim}>")


def cast_kernel(size: int) -> Any:
    """Returns the ufunc that copies words of `size` bytes."""
    return above.cast_ufunc(copyplan.WORDS[size])


def transpose_kernel(size: int, side: int, wide: int) -> Any:
    """Returns the kernel that transposes matrices by tiles of side x side words."""
    from numbalite.compilers import templates

    name = f"transpose<{copyplan.WORDS[size].name}, {side}, {wide}>"
    return _builtin_kernel(templates.fill_template("transpose"), name)


def _builtin_kernel(source, name):
    from numbalite.kernels.decorators import builtin_kernel

    return builtin_kernel(source, name)


def kernel_source(count: int) -> str:
    """Returns the source of the kernel for `count` copies."""
    from numbalite.compilers import templates

    numbers = range(count)
    parts = "".join(
        f"    if (block < blocks{k})\n        return copy_part(to{k}, of{k}, block);\n    block -= blocks{k};\n"
        for k in numbers
    )
    return templates.fill_template(
        "join", parts=parts,
        parameters=", ".join(
            f"array<T, D> to{k}, array<const T, D> of{k}, int blocks{k}" for k in numbers
        ),
    )  # fmt: skip
