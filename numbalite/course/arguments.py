"""Handles the arguments of a call of an answer, and its results.

Arrays of plain numbers are in larger arrays, whose margins reveal accesses out of bounds.
"""

from __future__ import annotations

import pickle

import numpy as np

from numbalite.judge.guarded import GuardedArray
from numbalite.judge.verdict import Failed

from .mistakes import UNFILLED


class Arguments:
    """The arguments of a call, in the memory where the answer expects them: on the device, or on the host.

    ``data`` is a pickle of the original arguments, so that no call can change them; ``passed`` are
    the arguments that the answer receives. Arrays of plain numbers have ``margin`` elements around them.
    """

    def __init__(self, exercise, data, margin):
        self.exercise = exercise
        self.margin = margin
        self.data = data
        self._guarded = []  # of each argument: Guarded and the larger array, or None
        self.passed = [
            self._device_argument(k, value) for k, value in enumerate(self.original_arguments())
        ]

    def original_arguments(self) -> tuple:
        """Returns a new copy of the original arguments."""
        return tuple(pickle.loads(self.data))

    def _device_argument(self, k, value):
        from numbalite import cuda

        if not isinstance(value, np.ndarray):
            self._guarded.append(None)
            return value
        guarded = GuardedArray(value, k, self.margin)
        whole = guarded.whole if self.exercise.host_arrays else cuda.to_device(guarded.whole)
        self._guarded.append((guarded, whole))
        return guarded.view_of_array(whole)

    def fill(self, data):
        """Writes other data to the same arrays."""
        self.data = data
        for i, value in enumerate(self.original_arguments()):
            if isinstance(value, np.ndarray):
                self.passed[i][...] = value
            else:
                self.passed[i] = value

    def copy(self, source):
        """Returns the data of other Arguments in arrays of the same type of memory."""
        self.data = source.data
        for i, value in enumerate(source.passed):
            if self._guarded[i] is None:
                self.passed[i] = value
            else:
                self.passed[i][...] = value

    def results(self, returned) -> list:
        """Returns the arrays that the answer has written or returned, as NumPy arrays."""
        if self.exercise.outputs:
            pairs = zip(self.exercise.parameters, self.passed)
            return [as_host_array(value) for name, value in pairs if name in self.exercise.outputs]
        if returned is None or returned is Ellipsis:
            raise Failed(f"It returns {returned}, no result. {UNFILLED}")
        returned = returned if isinstance(returned, tuple) else (returned,)
        if self.exercise.host_arrays and any(map(_is_on_device, returned)):
            raise Failed(
                "The answer returns a device array: copy the result to a NumPy array with copy_to_host()."
            )
        return [as_host_array(value) for value in returned]

    def check_untouched(self, size):
        """Raises Failed if an input was changed, or something was written out of an array's bounds."""
        exercise = self.exercise
        written = (*exercise.outputs, *exercise.changed)
        for k, (name, value) in enumerate(zip(exercise.parameters, self.original_arguments())):
            if self._guarded[k] is not None:
                _, whole = self._guarded[k]
                guarded = GuardedArray(value, k, self.margin)
                problem = guarded.out_of_bounds_write(
                    name, as_host_array(whole), name not in written
                )
                if problem:
                    raise Failed(f"With {size}, {problem}")


def _is_on_device(value):
    from numbalite import cuda

    return cuda.is_cuda_array(value)


def as_host_array(value) -> np.ndarray:
    """Returns a result as a NumPy array."""
    from numbalite import cuda

    from .work import plain_array

    if cuda.is_cuda_array(value):
        value = cuda.as_cuda_array(value).copy_to_host()
    return np.asarray(plain_array(value))
