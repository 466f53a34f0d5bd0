"""Transforms PTX so that a failed assert does not destroy the CUDA context.

CUDA's `assert` calls `__assertfail`, which invalidates the context and all arrays on the device. The
transformed PTX calls another function instead: the first thread that fails writes line, block, thread,
condition and file into the record RECORD, as the struct `failure` in cext/core/stop.c, and sets a word in host
memory, which the next wait reads. Each thread that fails exits; the other threads continue.
"""

from __future__ import annotations

import re

RECORD = "nl_failure"
_NAME = "nl_assertfail"
_OF_CUDA = re.compile(rb"(?<![\w$%])__assertfail(?![\w$%])")
_DECLARED = re.compile(rb"\.extern\s+\.func\s+__assertfail\s*\([^)]*\)[^;]*;")
# Byte offsets and sizes of the fields of the record of a failed assert
_TEXT, _FILE = (40, 128), (168, 256)


def has_assert(ptx: bytes | None) -> bool:
    """Returns whether a kernel of the PTX contains an assert."""
    return ptx is not None and _DECLARED.search(ptx) is not None


def catch_asserts(ptx: bytes) -> bytes:
    """Returns the PTX, changed so that a failed assert writes the record."""
    whole = _DECLARED.sub(lambda _: _FUNCTION.encode(), ptx, count=1)
    return _OF_CUDA.sub(_NAME.encode(), whole)


def _copy_string(number, parameter, at, size):
    """Returns PTX that copies a string of at most `size` - 1 characters into the record, whose other bytes
    are zero."""
    return f"""ld.param.u64 %from, [{parameter}];
mov.u64 %to, {RECORD};
add.u64 %to, %to, {at};
mov.u32 %left, {size - 1};
$nl_copy{number}:
ld.u8 %char, [%from];
st.global.u8 [%to], %char;
setp.eq.u16 %done, %char, 0;
@%done bra $nl_copied{number};
add.u64 %from, %from, 1;
add.u64 %to, %to, 1;
sub.u32 %left, %left, 1;
setp.ne.u32 %done, %left, 0;
@%done bra $nl_copy{number};
$nl_copied{number}:
"""


def _thread_indices_ptx():
    pairs = [("ctaid", axis, 8 + 4 * i) for i, axis in enumerate("xyz")]
    pairs += [("tid", axis, 20 + 4 * i) for i, axis in enumerate("xyz")]
    return "".join(
        f"mov.u32 %word, %{register}.{axis};\nst.global.u32 [{RECORD}+{at}], %word;\n"
        for register, axis, at in pairs
    )


_FUNCTION = f""".visible .global .align 8 .b8 {RECORD}[424];
.func {_NAME}(.param .b64 text, .param .b64 file, .param .b32 line, .param .b64 name, .param .b64 size)
{{
.reg .pred %done;
.reg .b16 %char;
.reg .b32 %word, %left;
.reg .b64 %from, %to;
atom.global.cas.b32 %word, [{RECORD}], 0, 1;
setp.ne.u32 %done, %word, 0;
@%done exit;
ld.param.u32 %word, [line];
st.global.u32 [{RECORD}+4], %word;
{_thread_indices_ptx()}{_copy_string(1, "text", *_TEXT)}{_copy_string(2, "file", *_FILE)}membar.sys;
ld.global.u64 %to, [{RECORD}+32];
setp.eq.u64 %done, %to, 0;
@%done exit;
mov.u32 %word, 1;
st.volatile.u32 [%to], %word;
membar.sys;
exit;
}}
"""
