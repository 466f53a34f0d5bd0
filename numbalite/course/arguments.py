"""The arguments of a call of an answer, and its results.

Arrays of plain numbers are in larger arrays, whose margins show accesses past an end.
"""

from __future__ import annotations

import pickle

import numpy as np

from .mistakes import UNFILLED, Failed


class Arguments:
    """The arguments of a call, where the answer expects them: on the device, or on the host.

    ``data`` is a pickle of the arguments as they were made, so that no call can change them; ``passed`` are what the
    answer gets. Arrays of plain numbers have ``margin`` elements around them.
    """

    def __init__(self, exercise, data, margin):
        self.exercise = exercise
        self.margin = margin
        self.data = data
        self._whole = []  # of each argument: the larger array, or None
        self.passed = [self._put(k, value) for k, value in enumerate(self.given())]

    def given(self) -> tuple:
        """A new copy of the arguments as they were made."""
        return tuple(pickle.loads(self.data))

    def _put(self, k, value):
        from numbalite import cuda

        if not isinstance(value, np.ndarray):
            self._whole.append(None)
            return value
        margin = self.margin if _has_margin(value) else 0
        whole = np.zeros(value.size + 2 * margin, value.dtype)
        if margin:
            whole[:margin] = whole[-margin:] = 1000 + k
        whole[margin : margin + value.size] = value.ravel()
        if not self.exercise.host_arrays:
            whole = cuda.to_device(whole)
        self._whole.append(whole)
        return whole[margin : margin + value.size].reshape(value.shape)

    def fill(self, data):
        """Other data in the same arrays."""
        self.data = data
        for i, value in enumerate(self.given()):
            if isinstance(value, np.ndarray):
                self.passed[i][...] = value
            else:
                self.passed[i] = value

    def copy(self, source):
        """The data of other Arguments, whose arrays are in memory of the same kind."""
        self.data = source.data
        for i, value in enumerate(source.passed):
            if self._whole[i] is None:
                self.passed[i] = value
            else:
                self.passed[i][...] = value

    def results(self, returned) -> list:
        """The arrays that the answer has written or returned, as NumPy arrays."""
        if self.exercise.outputs:
            pairs = zip(self.exercise.parameters, self.passed)
            return [on_host(value) for name, value in pairs if name in self.exercise.outputs]
        if returned is None or returned is Ellipsis:
            raise Failed(f"It returns {returned}, no result. {UNFILLED}")
        returned = returned if isinstance(returned, tuple) else (returned,)
        if self.exercise.host_arrays and any(map(_is_on_device, returned)):
            raise Failed(
                "It returns a device array; a NumPy array is wanted: copy the result back, with copy_to_host()."
            )
        return [on_host(value) for value in returned]

    def check_untouched(self, size):
        """Failed where an input has been changed, or something written beyond an array."""
        exercise, margin = self.exercise, self.margin
        for k, (name, value) in enumerate(zip(exercise.parameters, self.given())):
            whole = self._whole[k]
            if whole is None:
                continue
            now = on_host(whole)
            if margin and _has_margin(value):
                edges = {
                    "before its start": now[:margin],
                    "behind its end": now[len(now) - margin :],
                }
                for which, edge in edges.items():
                    if (edge != 1000 + k).any():
                        raise Failed(
                            f"With {size}, something is written into {name} {which}: guard the edges."
                        )
            if name not in exercise.outputs and name not in exercise.changed:
                start = margin if _has_margin(value) else 0
                inside = now[start : start + value.size].reshape(value.shape)
                if inside.tobytes() != np.ascontiguousarray(value).tobytes():
                    raise Failed(f"With {size}, the input {name} is changed by the call.")


def _has_margin(value):
    return value.dtype.kind in "fciu" and value.dtype.itemsize > 1


def _is_on_device(value):
    from numbalite import cuda

    return cuda.is_cuda_array(value)


def on_host(value) -> np.ndarray:
    """A result as a NumPy array."""
    from numbalite import cuda

    from .work import plain

    if cuda.is_cuda_array(value):
        value = cuda.as_cuda_array(value).copy_to_host()
    return np.asarray(plain(value))
