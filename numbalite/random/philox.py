"""Implements the bit generator Philox4x32-10: a key, and a counter of blocks that is advanced on the host."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.runtime import shapes

if TYPE_CHECKING:
    from typing import Any

_LOW = 2**64 - 1


class Philox4x32:
    """Philox4x32-10, the bit generator of `default_rng`; a counterpart of numpy.random.Philox.

    ``seed`` is a seed of numpy.random.SeedSequence (None: entropy of the system) or a SeedSequence; it
    determines the key and the upper half of the counter. ``key=`` (64 bits) and ``counter=`` set the initial
    state directly, without a seed. A block of the counter is 128 bits; `counter` and `key` are ints in
    `state`.

    >>> rng = cuda.random.Philox4x32(1)
    >>> rng.state == cuda.random.Philox4x32(1).state
    True
    """

    def __init__(self, seed: Any = None, *, counter: int = 0, key: int | None = None) -> None:
        if key is not None:
            if seed is not None:
                raise ValueError("Philox4x32: seed and key cannot both be given")
            self.seed_seq = None
            start = _check_uint("key", key, 64), _check_uint("counter", counter, 128)
        else:
            if not hasattr(seed, "generate_state"):
                if np.iterable(seed) and not isinstance(seed, (str, bytes, np.ndarray)):
                    seed = shapes.list_of_items(seed, "seed")
                seed = np.random.SeedSequence(seed)
            self.seed_seq = seed
            first, second = seed.generate_state(2, np.uint64).tolist()
            start = first, (second << 64) + _check_uint("counter", counter, 128)
        self._start_stream(*start)

    def _start_stream(self, key, counter):
        #: place.take(blocks) returns the key and both halves of the counter, and advances the counter by this number of blocks
        self.place = _core.Counter(key, counter & _LOW, counter >> 64 & _LOW)

    @property
    def state(self) -> dict[str, Any]:
        """The generator's state, a dictionary. A second generator that is assigned this state generates the
        same numbers."""
        key, low, high = self.place.take(0)
        numbers = {"counter": (high << 64) + low, "key": key}
        return {"bit_generator": "Philox4x32", "state": numbers}

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        if not isinstance(value, dict):
            raise TypeError(f"Philox4x32.state must be a dict, not {type(value).__name__}")
        if value.get("bit_generator") != "Philox4x32":
            raise ValueError(f"Philox4x32.state: of another generator: {value!r}")
        numbers = value["state"]
        self._start_stream(
            _check_uint("key", numbers["key"], 64), _check_uint("counter", numbers["counter"], 128)
        )

    def advance(self, delta: int) -> Philox4x32:
        """Advances the generator by ``delta`` blocks of 128 bits without drawing numbers; a negative
        ``delta`` moves back."""
        delta = operator.index(delta)
        self.place.take(delta & _LOW, delta >> 64 & _LOW)
        return self

    def jumped(self, jumps: int = 1) -> Philox4x32:
        """Returns a copy that is advanced by ``jumps`` times 2**64 blocks, for sequences that do not
        overlap."""
        made = self._copy()
        return made.advance(operator.index(jumps) << 64)

    def spawn(self, n_children: int) -> list[Philox4x32]:
        """Returns independent bit generators, from the children of the seed. Raises TypeError without a
        seed."""
        if self.seed_seq is None or not hasattr(self.seed_seq, "spawn"):
            raise TypeError(
                "Philox4x32.spawn: a generator without a seed cannot spawn other generators"
            )
        return [Philox4x32(child) for child in self.seed_seq.spawn(n_children)]

    def _copy(self):
        return _restored(self.state, self.seed_seq)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.state, self.seed_seq)


def _restored(state, seed_seq):
    made = Philox4x32(key=0)
    made.state = state
    made.seed_seq = seed_seq
    return made


def _check_uint(name, value, count):
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"Philox4x32: {name} must be an int, not {type(value).__name__}") from None
    if not 0 <= number < 1 << count:
        raise ValueError(f"Philox4x32: {name} must have at most {count} bits, not {number}")
    return number
