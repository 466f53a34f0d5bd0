"""Messages between the judge's processes: A message is JSON, followed by arrays in NumPy's format without
pickles."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

TEXT_LIMIT = 1 << 20
"""Bytes of the JSON of a message."""
ARRAY_LIMIT = 16 << 30
"""Bytes of an array."""
_MAX_ARRAYS = 1000


def send(pipe: Connection, message: Any, arrays: Sequence[np.ndarray] = ()) -> None:
    """Sends a message. Arrays of objects are sent as arrays of zeros of their shape; `receive` restores their dtype."""
    objects = [array.dtype.hasobject for array in arrays]
    pipe.send_bytes(json.dumps({"message": message, "objects": objects}).encode())
    for array, is_object in zip(arrays, objects, strict=True):
        written = io.BytesIO()
        sent = np.zeros(array.shape, "V1") if is_object else array
        np.lib.format.write_array(written, sent, allow_pickle=False)
        pipe.send_bytes(written.getbuffer())


def receive(pipe: Connection, limit: int = ARRAY_LIMIT) -> tuple[Any, list[np.ndarray]]:
    """Returns (message, arrays) that `send` has sent; ``limit`` is the maximum size of an array in bytes. May
    raise any exception if the sender is a submission, which may send arbitrary bytes."""
    header = json.loads(pipe.recv_bytes(TEXT_LIMIT))
    message, objects = header["message"], header["objects"]
    if len(objects) > _MAX_ARRAYS:
        raise ValueError("too many arrays")
    parts = [pipe.recv_bytes(limit + TEXT_LIMIT) for _ in objects]
    arrays = [np.lib.format.read_array(io.BytesIO(part), allow_pickle=False) for part in parts]
    return message, [
        np.empty(array.shape, object) if is_object else array
        for array, is_object in zip(arrays, objects, strict=True)
    ]
