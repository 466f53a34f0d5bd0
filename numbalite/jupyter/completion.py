"""Implements completion in C++: in cells that begin with %%cuda, and in the strings of kernels.

IPython calls every matcher of its completer. This matcher only completes C++, and suppresses the results of
other matchers, which complete Python. The matcher completes names of CUDA and numbalite, names in the text,
and the numbers, arrays and device functions of the notebook.
"""

from __future__ import annotations

import functools
import re
import sys

from IPython.core import completer

from numbalite.cxx import devicelib, scanner
from numbalite.jupyter import session

_QUALIFIERS = """__global__ __device__ __host__ __shared__ __constant__ __managed__ __restrict__
    __forceinline__ __noinline__ __launch_bounds__""".split()
_THREADS = """threadIdx blockIdx blockDim gridDim warpSize __syncthreads __syncthreads_count
    __syncthreads_and __syncthreads_or __syncwarp __shfl_sync __shfl_up_sync __shfl_down_sync
    __shfl_xor_sync __ballot_sync __any_sync __all_sync __match_any_sync __match_all_sync __activemask
    __reduce_add_sync __reduce_min_sync __reduce_max_sync __threadfence __threadfence_block
    __threadfence_system __nanosleep clock64""".split()
_ATOMICS = [f"atomic{what}" for what in "Add Sub Exch Min Max Inc Dec CAS And Or Xor".split()]
_FUNCTIONS = """__ldg __popc __popcll __clz __clzll __ffs __ffsll __brev __brevll __fmaf_rn __saturatef
    __sinf __cosf __expf __logf __powf __fdividef printf assert sinf cosf expf logf sqrtf fabsf powf fmaxf
    fminf fma fmaf""".split()
_TYPES = """dim3 float2 float3 float4 double2 int2 int3 int4 uint2 uint3 uint4 size_t int8_t int16_t int32_t
    int64_t uint8_t uint16_t uint32_t uint64_t""".split()
_CUDA = frozenset((*_QUALIFIERS, *_THREADS, *_ATOMICS, *_FUNCTIONS, *_TYPES)) | {
    f"make_{name}" for name in _TYPES if name[-1] in "234" and name != "dim3"
}
_MEMBERS: dict[str | None, tuple] = {  # object name (None: any other name) -> members to complete
    **dict.fromkeys(("threadIdx", "blockIdx", "blockDim", "gridDim"), ("x", "y", "z")),
    None: ("size()", "shape", "strides", "ndim", "data()", "begin()", "end()", "real()", "imag()"),
}
_STRING = re.compile(r'"""|' + "'''")
_OURS = re.compile(r"\b(?:jit|vectorize|guvectorize|reduce|module)\b")
_WORD = re.compile(r"[A-Za-z_]\w*")


def add(shell) -> None:
    """Adds the matcher to the shell, if it is not added."""
    matchers = shell.Completer.custom_matchers
    if completion_matcher not in matchers:
        matchers.append(completion_matcher)


def remove(shell) -> None:
    """Undoes `add`."""
    matchers = shell.Completer.custom_matchers
    if completion_matcher in matchers:
        matchers.remove(completion_matcher)


@completer.context_matcher(identifier="numbalite", priority=1000)
def completion_matcher(context):
    """Returns the matcher that IPython calls."""
    lines = context.full_text.split("\n")[: context.cursor_line + 1]
    before = "\n".join([*lines[:-1], lines[-1][: context.cursor_position]])
    found = find_completions(context.full_text, before, getattr(session.shell(), "user_ns", {}))
    if found is None:
        return {"completions": []}
    fragment, words = found
    return {
        "completions": [completer.SimpleCompletion(word, type="c++") for word in words],
        "matched_fragment": fragment,
        "suppress": True,
    }


def find_completions(text, before, scope):
    """Returns (the word before the cursor, its completions), or None if the cursor is not in
    C++."""
    inside = _cxx_at_cursor(text, before)
    if inside is None:
        return None
    member = re.search(r"(\w+)\s*(?:\[[^][]*\])*\s*(?:\.|->)\s*(\w*)$", before)
    if member and not member[1][0].isdigit():
        words = _MEMBERS.get(member[1], _MEMBERS[None])
        return member[2], [word for word in words if word.startswith(member[2])]
    fragment = re.search(r"[A-Za-z_]\w*$|$", before)[0]
    if not fragment:
        return "", []
    words = {
        *_cuda_names(),
        *_WORD.findall(inside),
        *(n for n, v in scope.items() if _can_be_named(n, v)),
    }
    words.discard(fragment)
    return fragment, sorted(word for word in words if word.startswith(fragment))


def _cxx_at_cursor(text, before):
    """Returns the C++ text that contains the cursor, or None for Python."""
    if re.match(r"\s*%%cuda\b", text):
        return text.partition("\n")[2] if "\n" in before else None
    opened = None  # the quotes of the string that contains the cursor, and the start of the string
    for quotes in _STRING.finditer(before):
        if opened is None:
            opened = quotes
        elif quotes[0] == opened[0]:
            opened = None
    if opened is None:
        return None
    above = before[: opened.start()].rstrip()
    # The lines before the string: a decorator and a def, or a call
    paragraph = above[above.rfind("\n\n") + 1 :]
    return text[opened.end() :].partition(opened[0])[0] if _OURS.search(paragraph) else None


@functools.cache
def _cuda_names():
    return _CUDA | devicelib.LIBRARY_NAMES | scanner.KEYWORDS


def _can_be_named(name, value):
    """Returns the numbers, arrays and device functions of the notebook."""
    if name.startswith("_"):
        return False
    if isinstance(value, bool | int | float | complex):
        return True
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray | numpy.generic):
        return True
    return type(value).__name__ == "DeviceFunction"
