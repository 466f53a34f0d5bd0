"""Defines dia_array: a sparse array stored by diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.errors import PerformanceWarning, warn
from numbalite.functions import arguments
from numbalite.sparse import changes, construct, kernels
from numbalite.sparse.array import SparseArray
from numbalite.sparse.construct import issparse
from numbalite.sparse.formats import coo_array, csc_array, csr_array
from numbalite.ufuncs import operands

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import DTypeLike

    from numbalite.ndarray.arrays import DeviceNDArray

_MANY = 100
"""Diagonals, from which a conversion warns, as SciPy's does: there are zeros along each."""


class dia_array(SparseArray):
    """A sparse array stored by diagonals: the element in row j - offsets[k] and column j is `data[k, j]`.

    Elements of `data` whose row is outside the array are ignored."""

    __slots__ = ("_offsets", "_on_device")
    format = "dia"
    has_canonical_format = True

    def __init__(
        self, arg1: Any, shape: Any = None, dtype: DTypeLike | None = None, copy: bool = False
    ) -> None:
        """arg1: another sparse array (also of SciPy), a dense 2-dimensional array, a shape, or (data, offsets)
        together with `shape`. Waits if the offsets are on the device."""
        name = "dia_array"
        if dtype is not None:
            dtype = construct.stored_dtype(name, dtype)
        is_pair = (
            isinstance(arg1, tuple) and len(arg1) == 2 and not construct.is_pair_of_integers(arg1)
        )
        with construct.on_device_of(arg1):
            made = (
                self._read_arguments(name, arg1, shape, dtype)
                if is_pair
                else _as_dia_array(arg1, dtype)
            )
        if shape is not None and construct.shape_of(name, shape) != made.shape:
            raise ValueError(f"{name}: shape is {shape!r}, the array has shape {made.shape}")
        self._set_arrays(made.data.copy() if copy else made.data, made._offsets, made.shape)

    @classmethod
    def _read_arguments(cls, name, given, shape, dtype):
        if shape is None:
            raise ValueError(f"{name}: (data, offsets) requires shape=")
        shape = construct.shape_of(name, shape)
        data, offsets = arguments.as_device_array(given[0], "data"), given[1]
        if data.ndim < 2:
            data = data.reshape(1, -1)
        construct.stored_dtype(name, data.dtype)
        offsets = offsets.copy_to_host() if operands.is_on_device(offsets) else offsets
        offsets = np.atleast_1d(np.asarray(offsets))
        if offsets.ndim > 1 or (offsets.size and offsets.dtype.kind not in "iu"):
            raise ValueError(
                f"{name}: offsets have dtype {offsets.dtype} and shape {offsets.shape}: a 1-D "
                "sequence of integers is needed"
            )
        places = tuple(map(int, offsets))
        if data.ndim != 2 or data.shape[0] != len(places):
            raise ValueError(
                f"{name}: data has shape {data.shape}: it must have a row for each of {len(places)} offsets"
            )
        if len(set(places)) < len(places):
            raise ValueError(f"{name}: an offset occurs twice")
        data = data if dtype is None else data.astype(dtype, copy=False)
        return cls._from_parts(operands.contiguous_array(data), places, shape)

    def _set_arrays(self, data, offsets, shape):
        self._offsets = offsets
        self._on_device = None
        self._initialize_data(data, shape)

    @classmethod
    def _from_parts(cls, data, offsets, shape):
        made = cls.__new__(cls)
        made._set_arrays(data, offsets, shape)
        return made

    @property
    def offsets(self) -> DeviceNDArray:
        """The offsets of the stored diagonals: the main diagonal has offset 0, upper diagonals positive offsets."""
        if self._on_device is None:
            with arguments.on_device_of(self.data):
                kind = construct.dtype_of_indices(max(self.shape))
                self._on_device = arguments.as_device_array(np.array(self._offsets, kind))
        return self._on_device

    @property
    def nnz(self) -> int:
        """The number of elements of the stored diagonals, including zeros."""
        rows, columns = self.shape
        columns = min(columns, self.data.shape[1])
        return sum(max(min(rows + k, columns) - max(k, 0), 0) for k in self._offsets)

    @property
    def size(self) -> int:
        return self.nnz

    def _component_arrays(self):
        return self.data, self.offsets

    def __reduce__(self) -> Any:
        return self._from_parts, (self.data, self._offsets, self.shape)

    def _with_data(self, data):
        return self._from_parts(data, self._offsets, self.shape)

    def _replace_contents(self, other):
        self._set_arrays(other.data, other._offsets, other.shape)

    def _filter_elements(self, mask):
        return self._with_data(np.where(mask, self.data, self.dtype.type(0)))

    def _with_explicit_indices(self):
        return self.tocsr()

    def copy(self) -> Any:
        return self._with_data(self.data.copy())

    def sum_duplicates(self) -> None:
        """Has no effect: the format has no duplicates."""

    # ---- conversions

    def todia(self, copy: bool = False) -> dia_array:
        return self.copy() if copy else self

    def tocsr(self, copy: bool = False) -> csr_array:
        """Returns the array as a csr_array with sorted indices, without zeros. Waits for the number
        of elements."""
        rows, columns = self.shape
        kind = construct.dtype_of_indices(max(*self.shape, self.nnz))
        order = np.argsort(np.array(self._offsets, np.int64), kind="stable")
        with arguments.on_device_of(self.data):
            sorted_offsets = arguments.as_device_array(np.array(self._offsets, np.int64)[order])
            indptr = arguments.empty((rows + 1,), kind, self.data)
            indptr.fill(0)
            data, indices = arguments.empty((0,), self.dtype, self.data), indptr[:0]
            if self.nnz:
                args = (
                    self.data,
                    sorted_offsets,
                    arguments.as_device_array(order),
                    columns,
                    self.dtype.type(0),
                )
                split = kernels.split_diagonals.forall(rows)
                split(*args, False, indptr, indices, data)
                indptr = construct.indptr_of_counts(indptr)
                count = indptr[-1:].item()
                data = arguments.empty((count,), self.dtype, self.data)
                indices = arguments.empty((count,), kind, self.data)
                if count:
                    split(*args, True, indptr, indices, data)
        return csr_array._from_parts((data, indices, indptr), self.shape, True)

    def tocsc(self, copy: bool = False) -> csc_array:
        return self.T.tocsr().T

    def tocoo(self, copy: bool = False) -> coo_array:
        return self.tocsr().tocoo()

    def _transposed_view(self):
        offsets = tuple(-k for k in self._offsets)
        with arguments.on_device_of(self.data):
            data = arguments.empty((len(offsets), self.shape[0]), self.dtype, self.data)
            if data.size:
                args = self.data, self.offsets, self.shape[1], self.dtype.type(0), data
                kernels.shift_diagonals.forall(data.size)(*args)
        return self._from_parts(data, offsets, self.shape[::-1])

    # ---- operations on diagonals

    def _combine_diagonals(self, other, ufunc):
        """Returns ufunc(self, other) of two dia_arrays of equal shape, for add, subtract and multiply.

        The result has the diagonals that both arrays have (multiply), or that at least one of them has (add,
        subtract)."""
        dtype = np.result_type(self.dtype, other.dtype)
        if ufunc is np.multiply:
            offsets = tuple(sorted(set(self._offsets) & set(other._offsets)))
        else:
            offsets = tuple(sorted(set(self._offsets) | set(other._offsets)))
        with arguments.on_device_of(self.data):
            made = ufunc(*(one._diagonal_rows(offsets, dtype) for one in (self, other)))
        return self._from_parts(made, offsets, self.shape)

    def _diagonal_rows(self, offsets, dtype):
        """Returns a 2-dimensional array with the data of these diagonals: one row per diagonal, one column per column
        of the array."""
        columns = self.shape[1]
        made = arguments.empty((len(offsets), columns), dtype, self.data)
        made.fill(0)
        width = min(columns, self.data.shape[1])
        for i, k in enumerate(offsets):
            if k in self._offsets:
                made[i, :width] = self.data[self._offsets.index(k), :width]
        return made

    def _multiply_into(self, b, made):
        columns = min(self.shape[1], self.data.shape[1])
        args = self.data, self.offsets, columns, b, self.dtype.type(0), made
        kernels.multiply_diagonals.forall(made.size)(*args)

    def diagonal(self, k: int = 0) -> DeviceNDArray:
        """Returns the k-th diagonal, as a dense device array."""
        rows, columns = self.shape
        first, end = max(k, 0), max(min(rows + k, columns), max(k, 0))
        values = arguments.empty((end - first,), self.dtype, self.data)
        values.fill(0)
        if k in self._offsets:
            stored = self.data[self._offsets.index(k), first:end]
            values[: stored.size] = stored
        return values

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Sets the elements of the k-th diagonal; see `csr_array.setdiag`. Does not wait."""
        with arguments.on_device_of(self.data):
            values = changes.diagonal_values(self, values, k)
            offsets = self._offsets if k in self._offsets else (*self._offsets, k)
            data = self._diagonal_rows(offsets, self.dtype)
            data[offsets.index(k), max(k, 0) : max(k, 0) + values.size] = values
        self._set_arrays(data, offsets, self.shape)

    def _grown_copy(self, shape):
        """Returns a copy in which elements of `data` outside the old shape are cleared, because the new shape
        would include them."""
        made = self.T.T
        return self._from_parts(made.data, made._offsets, shape)

    def __getitem__(self, key: Any) -> Any:
        """Selects rows, columns and elements, after conversion to csr. For several accesses, call tocsr()
        once."""
        return self.tocsr()[key]


def _as_dia_array(given, dtype):
    """Returns a dia_array from a sparse array of any format, a dense array or a shape."""
    if construct.is_pair_of_integers(given):
        shape = construct.shape_of("dia_array", given)
        return _empty_dia_array(shape, float if dtype is None else dtype)
    if construct.is_scipy(given) and not issparse(given) and given.format == "dia":
        made = dia_array._read_arguments(
            "dia_array", (given.data, given.offsets), given.shape, None
        )
    else:
        made = from_sparse(given if issparse(given) else csr_array(given))
    return made if dtype is None else made.astype(dtype, copy=False)


def _empty_dia_array(shape, dtype, like=None):
    return dia_array._from_parts(arguments.empty((0, 0), np.dtype(dtype), like), (), shape)


def from_sparse(a: Any) -> dia_array:
    """Returns a dia_array from another 2-dimensional sparse array. Waits for the list of the array's
    diagonals."""
    if a.ndim != 2:
        raise ValueError("todia requires a sparse array of two dimensions")
    if a.format == "dia":
        return a
    with arguments.on_device_of(a.data):
        a.sum_duplicates()
        coo = a.tocoo()
        if not coo.nnz:
            return _empty_dia_array(a.shape, a.dtype, a.data)
        along = np.subtract(coo.col.astype(np.int64), coo.row)
        found: Any = np.unique(along, return_inverse=True)
        offsets, places = found
        if offsets.size > _MANY:
            warn(
                f"todia: {offsets.size} diagonals are stored, with the zeros along each of them",
                PerformanceWarning,
            )
        width = int(np.max(coo.col).item()) + 1
        data = arguments.empty((offsets.size, width), a.dtype, a.data)
        data.fill(0)
        kernels.store_elements.forall(coo.nnz)(coo.data, places, coo.col, data)
    return dia_array._from_parts(data, tuple(offsets.copy_to_host().tolist()), a.shape)
