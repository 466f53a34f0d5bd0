"""Implements numpy.einsum on device arrays, contracting two operands at a time in the order of NumPy's
einsum_path.

Two operands are contracted by a matrix product if labels are summed over, otherwise by an element-wise
product."""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numbalite import _core
from numbalite.functions import arguments, outputs, reductions
from numbalite.ndarray import assign
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes

from . import matmul

if TYPE_CHECKING:
    from typing import Any


class _LabeledOperand(NamedTuple):
    """An operand with a label for each of its axes."""

    array: Any
    labels: tuple[str, ...]


@implements("einsum")
def einsum(
    *operands, out=None, optimize=False, dtype=None, order: str = "K", casting="safe"
) -> Any:
    order = shapes.order_of(order)
    terms, result = _read_operands(operands)
    arrays = arguments.arrays_of((array for array, _ in terms), "an operand of einsum")
    if len(arrays) == 1 and out is None:
        view = _operand_view(_LabeledOperand(arrays[0], terms[0][1]), result)
        if view is not None:
            return view
    kind = np.result_type(*(one.dtype for one in arrays)) if dtype is None else np.dtype(dtype)
    for one in arrays:
        if not np.can_cast(one.dtype, kind, casting):
            raise TypeError(
                f"Iterator operand 0 dtype could not be cast from {one.dtype!r} to {kind!r} "
                f"according to the rule {casting!r}"
            )
    if order == "A":
        order = "F" if all(one.is_f_contiguous() for one in arrays) else "C"
    terms = [_LabeledOperand(one, labels) for one, (_, labels) in zip(arrays, terms, strict=True)]
    terms = list(_without_ellipses(terms))
    result = _result_labels(terms, result)
    terms = [_merge_repeated_labels(term) for term in terms]
    lengths = _label_lengths(terms)
    with assign.on_device(arrays[0].device):
        terms = [_LabeledOperand(one.array.astype(kind, copy=False), one.labels) for one in terms]
        made = _contract_terms(terms, result, lengths, optimize)
        if order in "CF":
            made = made.astype(made.dtype, order, copy=False)
    return outputs.copy_to_out("einsum", out, made, casting)


def _operand_view(term, result):
    """Returns a view of a single operand if no label is summed over, otherwise None.

    As in NumPy, dtype=, casting= and order= have no effect on a view.
    """
    (term,) = _without_ellipses([term])
    result = _result_labels([term], result)
    term = _merge_repeated_labels(term)
    if set(term.labels) != set(result):
        return None
    with assign.on_device(term.array.device):
        return term.array.transpose([term.labels.index(one) for one in result])


# ----------------------------------------------------------------------------------------- parsing


def _read_operands(operands):
    """Returns ([(operand, its labels)], the labels of the result or None); "..." counts as one label."""
    if not operands:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, or at least one operand and its corresponding subscripts list"
        )
    if not isinstance(operands[0], str):
        return _read_lists(operands)
    text, arrays = operands[0].replace(" ", ""), operands[1:]
    inputs, arrow, output = text.partition("->")
    words = inputs.split(",")
    if len(words) != len(arrays):
        raise ValueError(
            "more operands provided to einstein sum function than specified in the subscripts string"
            if len(words) < len(arrays)
            else "fewer operands provided to einstein sum function than specified in the subscripts "
            "string"
        )
    terms = [(one, _parse_labels(word)) for one, word in zip(arrays, words, strict=True)]
    return terms, _parse_labels(output) if arrow else None


def _parse_labels(word):
    labels = []
    rest = word
    while rest:
        if rest.startswith("..."):
            labels, rest = [*labels, "..."], rest[3:]
        elif rest[0].isascii() and rest[0].isalpha():
            labels, rest = [*labels, rest[0]], rest[1:]
        else:
            raise ValueError(
                f"invalid subscript '{rest[0]}' in einstein sum subscripts string, subscripts must be "
                "letters"
            )
    if labels.count("...") > 1:
        raise ValueError("einstein sum subscripts string contains two ellipses in one operand")
    return tuple(labels)


def _read_lists(operands):
    """Parses the form einsum(a, [0, 1], b, [1, 2], [0, 2])."""

    def sublist_labels(sublist):
        return tuple("..." if one is Ellipsis else _letter_of_integer(one) for one in sublist)

    pairs = list(itertools.zip_longest(operands[::2], operands[1::2], fillvalue=None))
    output = sublist_labels(operands[-1]) if len(operands) % 2 else None
    if len(operands) % 2:
        pairs.pop()
    return [(one, sublist_labels(labels)) for one, labels in pairs], output


def _letter_of_integer(number):
    """Returns the letter that replaces an integer subscript; NumPy supports the integers 0 to 51."""
    number = operator.index(number)
    if not 0 <= number < 52:
        raise ValueError("subscript is not within the valid range [0, 52)")
    return chr(ord("a") + number)


def _without_ellipses(terms):
    """Replaces ellipses by labels that are counted from the last axis: "-1", "-2", ..."""
    for number, term in enumerate(terms):
        count = len(term.labels) - ("..." in term.labels)
        spare = term.array.ndim - count
        if spare < 0 or (spare and "..." not in term.labels):
            raise ValueError(
                "einstein sum subscripts string "
                f"{'contains too many subscripts' if spare < 0 else 'does not contain the right number of subscripts'}"
                f" for operand {number}"
            )
        where = term.labels.index("...") if "..." in term.labels else 0
        fill = tuple(str(i) for i in range(-spare, 0))
        rest = term.labels[where + 1 :] if "..." in term.labels else term.labels[where:]
        yield _LabeledOperand(term.array, term.labels[:where] + fill + rest)


def _result_labels(terms, result):
    every = [label for term in terms for label in term.labels]
    spare = sorted({label for label in every if label[0] == "-"}, key=int)
    if result is None:
        once = sorted(one for one in every if one[0] != "-" and every.count(one) == 1)
        return (*spare, *once)
    if spare and "..." not in result:
        raise ValueError("output has an ellipsis missing: the operands' ellipses have axes")
    where = result.index("...") if "..." in result else 0
    made = result[:where] + tuple(spare) + result[where + 1 :] if "..." in result else result
    for one in made:
        if made.count(one) > 1:
            raise ValueError(
                f"einstein sum subscripts string includes output subscript '{one}' multiple times"
            )
        if one not in every:
            raise ValueError(
                f"einstein sum subscripts string included output subscript '{one}' which never appeared in an input"
            )
    return made


def _merge_repeated_labels(term):
    """Removes repeated labels of an operand, by selecting the diagonal along their axes."""
    array, labels = term
    if len(set(labels)) == len(labels):
        return term
    shape, strides = [], []
    names = tuple(dict.fromkeys(labels))
    for name in names:
        axes = [i for i, label in enumerate(labels) if label == name]
        lengths = {array.shape[i] for i in axes}
        if len(lengths) > 1:
            raise ValueError(
                f"dimensions in operand for collapsing index '{name}' don't match ({' != '.join(map(str, sorted(lengths)))})"
            )
        shape.append(lengths.pop())
        strides.append(sum(array.strides[i] for i in axes))
    return _LabeledOperand(array._view_with_layout(shape, strides), names)


def _label_lengths(terms):
    """Returns {label: length}; axes of length 1 are broadcast."""
    lengths: dict[str, int] = {}
    for term in terms:
        for label, length in zip(term.labels, term.array.shape, strict=True):
            known = lengths.setdefault(label, length)
            if known == 1:
                lengths[label] = length
            elif length not in (1, known):
                raise ValueError(
                    f"operands could not be broadcast together: the subscript '{label}' stands for "
                    f"{known} and for {length} elements"
                )
    return lengths


# --------------------------------------------------------------------------------------- computing


def _contract_terms(terms, result, lengths, optimize):
    """Contracts all terms to an array with the labels of the result."""
    terms = list(terms)
    for pair in _contraction_path(terms, result, optimize):
        chosen = [terms[i] for i in pair]
        terms = [term for i, term in enumerate(terms) if i not in pair]
        while len(chosen) > 1:
            a, b, *chosen = chosen
            kept = set(result).union(*(term.labels for term in (*terms, *chosen)))
            chosen.insert(0, _contract_pair(a, b, kept))
        terms += chosen
    (last,) = terms
    array, labels = _sum_over_labels(last, set(result))
    order = [labels.index(one) for one in result if one in labels]
    made = array.transpose(order) if order else array
    shape = tuple(lengths[one] for one in result)
    if len(order) < len(result):  # a label of length 1 was dropped in a contraction
        made = made.reshape([lengths[one] if one in labels else 1 for one in result])
    return made if made.shape == shape else assign.broadcast_view(made, shape).copy()


def _contraction_path(terms, result, optimize):
    """Returns the order of contractions, a list of tuples of operand indices, from numpy.einsum_path."""
    count = len(terms)
    if count == 1:
        return []
    if count == 2 or optimize is False:
        return [(0, 1)] + [(0, count - i - 1) for i in range(1, count - 1)]
    if isinstance(optimize, (list, tuple)) and optimize and optimize[0] == "einsum_path":
        steps = [tuple(step) for step in optimize[1:]]
        left = count - sum(len(step) - 1 for step in steps)
        if left != 1:
            raise RuntimeError(
                f"Invalid einsum_path is specified: {left - 1} more operands has to be contracted."
            )
        return steps
    letters = {
        one: chr(ord("A") + i)
        for i, one in enumerate(dict.fromkeys(one for t in terms for one in t.labels))
    }
    text = ",".join("".join(letters[one] for one in term.labels) for term in terms)
    shapes = [np.broadcast_to(np.float64(0), term.array.shape) for term in terms]
    how = "optimal" if optimize == "optimal" else "greedy"
    path, _ = np.einsum_path(
        f"{text}->{''.join(letters[one] for one in result)}", *shapes, optimize=how
    )
    return [tuple(step) for step in path[1:]]


def _sum_over_labels(term, kept):
    """Sums a term over the labels that occur in neither another term nor the result."""
    gone = tuple(i for i, label in enumerate(term.labels) if label not in kept)
    if not gone:
        return term
    return _LabeledOperand(
        np.sum(term.array, gone, dtype=term.array.dtype),
        tuple(label for label in term.labels if label in kept),
    )


def _contract_pair(a, b, kept):
    """Returns the product of two terms, summed over the labels that are not in ``kept``."""
    a, b = _drop_broadcast_axes(a, b), _drop_broadcast_axes(b, a)
    alone = {one for one in set(a.labels) ^ set(b.labels) if one not in kept}
    if alone and a.array.dtype.kind in "fc":
        return _sum_of_products(a, b, kept)
    a, b = _sum_over_labels(a, kept.union(b.labels)), _sum_over_labels(b, kept.union(a.labels))
    stacked = [one for one in a.labels if one in b.labels and one in kept]
    contracted = [one for one in a.labels if one in b.labels and one not in kept]
    rows = [one for one in a.labels if one not in b.labels]
    columns = [one for one in b.labels if one not in a.labels]
    labels = (*stacked, *rows, *columns)
    if not contracted:
        return _LabeledOperand(
            np.multiply(
                _transpose_to_labels(a, stacked, rows, columns),
                _transpose_to_labels(b, stacked, rows, columns),
            ),
            labels,
        )
    length = {
        **dict(zip(b.labels, b.array.shape, strict=True)),
        **dict(zip(a.labels, a.array.shape, strict=True)),
    }
    counts = [math.prod(length[one] for one in group) for group in (rows, contracted, columns)]
    stack = [length[one] for one in stacked]
    left = a.array.transpose([a.labels.index(one) for one in (*stacked, *rows, *contracted)])
    right = b.array.transpose([b.labels.index(one) for one in (*stacked, *contracted, *columns)])
    left = arguments.reshape(left, (*stack, counts[0], counts[1]))
    right = arguments.reshape(right, (*stack, counts[1], counts[2]))
    return _LabeledOperand(
        matmul.matmul(left, right).reshape([length[one] for one in labels]), labels
    )


def _sum_of_products(a, b, kept):
    """Returns the product of two terms if a summed label occurs in only one of the terms.

    Summing over the label before the product would be faster, but differs for infinities and NaN, as in inf * (1 - 1).
    """
    labels = tuple(dict.fromkeys((*a.labels, *b.labels)))
    left = tuple(one for one in labels if one in kept)
    every = [*left, *(one for one in labels if one not in kept)]
    dtype = a.array.dtype
    wide = np.dtype("f4") if dtype.char == "e" else dtype
    pair = tuple(_transpose_to_labels(one, every) for one in (a, b))
    axes = tuple(range(len(left), len(every)))
    made = reductions.sum_of_products(wide, "a * b")(pair, axes, False, None, 0)
    return _LabeledOperand(made.astype(dtype, copy=False), left)


def _drop_broadcast_axes(a, b):
    """Drops axes of length 1 that are broadcast to a longer axis of the other term."""
    other = dict(zip(b.labels, b.array.shape, strict=True))
    gone = [
        i
        for i, (one, length) in enumerate(zip(a.labels, a.array.shape, strict=True))
        if length == 1 and other.get(one, 1) != 1
    ]
    if not gone:
        return a
    labels = tuple(one for i, one in enumerate(a.labels) if i not in gone)
    return _LabeledOperand(a.array.squeeze(tuple(gone)), labels)


def _transpose_to_labels(term, *groups):
    """Transposes a term to the order of the labels in `groups`; missing labels get axes of length 1."""
    key = []
    order = []
    for one in itertools.chain(*groups):
        if one in term.labels:
            order.append(term.labels.index(one))
            key.append(slice(None))
        else:
            key.append(None)
    return (term.array.transpose(order) if order else term.array)[tuple(key) or ...]


@implements("einsum_path")
def einsum_path(*operands, optimize="greedy", einsum_call=False) -> Any:
    """Calls NumPy's einsum_path with empty host arrays that have the shapes of the operands."""
    return np.einsum_path(
        *(
            np.broadcast_to(np.empty((), one.dtype), one.shape)
            if isinstance(one, _core.DeviceArray)
            else one
            for one in operands
        ),
        optimize=optimize,
    )
