"""Implements NumPy's packbits and unpackbits: conversion between booleans and bits of bytes."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.kernels.decorators import jit
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes

if TYPE_CHECKING:
    from numbalite.ndarray.arrays import DeviceNDArray


@jit
def _pack_bits(flags, bytes, big):
    """
    long long i = grid<1>(), lines = bytes.shape[2], length = bytes.shape[1];
    if (i >= bytes.size()) return;
    long long line = i % lines, at = i / lines % length, outer = i / lines / length;
    unsigned byte = 0;
    for (int bit = 0; bit < 8 && at * 8 + bit < flags.shape[1]; bit++)
        if (flags(outer, at * 8 + bit, line))
            byte |= 1u << (big ? 7 - bit : bit);
    bytes(outer, at, line) = byte;
    """


@jit
def _unpack_bits(bytes, flags, big):
    """
    long long i = grid<1>(), lines = flags.shape[2], length = flags.shape[1];
    if (i >= flags.size()) return;
    long long line = i % lines, at = i / lines % length, outer = i / lines / length;
    int bit = at % 8;
    flags(outer, at, line) =
        at / 8 < bytes.shape[1] ? bytes(outer, at / 8, line) >> (big ? 7 - bit : bit) & 1 : 0;
    """


def _split_around_axis(a, axis):
    """Returns (the array as three axes with `axis` in the middle, the shape before the axis, the
    shape after it)"""
    if axis is None:
        a, axis = arguments.as_1d(a), 0
    elif a.ndim == 0:
        a = a.reshape(1)
    axis = shapes.axis_number(shapes.axis_index(axis), a.ndim)
    before, behind = a.shape[:axis], a.shape[axis + 1 :]
    three = math.prod(before), a.shape[axis], math.prod(behind)
    return arguments.reshape(a, three), before, behind


def _is_big_endian(bitorder):
    if not isinstance(bitorder, str):
        raise TypeError(f"bitorder must be a str, not {type(bitorder).__name__}")
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return int(bitorder == "big")


def _run_bit_kernel(kernel, source, before, length, behind, big):
    made = arguments.empty((source.shape[0], length, source.shape[2]), np.uint8, source)
    if made.size:
        with arguments.on_device_of(source):
            kernel.forall(made.size, arguments.THREADS)(source, made, big)
    return made.reshape((*before, length, *behind))


@implements("packbits")
def packbits(a, /, axis=None, bitorder: str = "big") -> DeviceNDArray:
    a, big = arguments.as_device_array(a), _is_big_endian(bitorder)
    if a.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    source, before, behind = _split_around_axis(a, axis)
    return _run_bit_kernel(_pack_bits, source, before, -(-source.shape[1] // 8), behind, big)


@implements("unpackbits")
def unpackbits(a, /, axis=None, count=None, bitorder: str = "big") -> DeviceNDArray:
    a, big = arguments.as_device_array(a), _is_big_endian(bitorder)
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    source, before, behind = _split_around_axis(a, axis)
    there = source.shape[1] * 8
    length = there if count is None else operator.index(count)
    if length < 0:  # a negative count drops the last -count bits
        length += there
        if length < 0:
            raise ValueError(f"-count {-count} larger than number of elements {there}")
    return _run_bit_kernel(_unpack_bits, source, before, length, behind, big)
