"""Translates NVRTC's options that have an equivalent for a host compiler.

Macros become text before the source, because a precompiled prelude must not see them.
"""

from __future__ import annotations

from typing import NamedTuple

from numbalite.errors import CompileError

# option name -> (whether a value follows, its meaning for the host compiler)
_OPTIONS = {
    "-I": (True, "include"),
    "--include-path": (True, "include"),
    "-include-path": (True, "include"),
    "-isystem": (True, "include"),
    "-D": (True, "define"),
    "--define-macro": (True, "define"),
    "-U": (True, "undefine"),
    "--undefine-macro": (True, "undefine"),
    "-include": (True, "before"),
    "--pre-include": (True, "before"),
    "-std": (True, "std"),
    "--std": (True, "std"),
    "-use_fast_math": (False, "fastmath"),
    "--use_fast_math": (False, "fastmath"),
    "-fmad": (True, "fmad"),
    "--fmad": (True, "fmad"),
    "-G": (False, "debug"),
    "--device-debug": (False, "debug"),
    "-lineinfo": (False, "lineinfo"),
    "--generate-line-info": (False, "lineinfo"),
}
_IGNORED = (
    "arch gpu-architecture gpu-name ftz prec-sqrt prec-div maxrregcount rdc relocatable-device-code dc "
    "dw device-c device-w ewp extensible-whole-program default-device "
    "device-as-default-execution-space extra-device-vectorization opt-info dlto gen-opt-lto modify-stack-limit "
    "dopt Ofast-compile dlcm optimize-unused-variables ptxas-options Xptxas restrict w disable-warnings "
    "diag-error diag-suppress diag-warn err-no display-error-number no-display-error-number "
    "builtin-move-forward builtin-initializer-list no-source-include brief-diagnostics time "
    "split-compile fdevice-syntax-only minimal device-stack-protector pch create-pch use-pch pch-dir "
    "pch-verbose pch-messages instantiate-templates-in-pch version-ident jump-table-density no-cache "
    "fast-compile frandom-seed device-int128 device-float128 fdevice-time-trace"
).split()


class Options(NamedTuple):
    std: str
    includes: tuple = ()
    before: str = ""
    """Preprocessor lines that come before the source."""
    fastmath: bool = False
    fmad: bool = True
    debug: bool = False
    lineinfo: bool = False
    wraps: bool = False
    """Whether signed integers wrap, as in Python bodies."""


def read_options(source) -> Options:
    """Returns the options of a source. Raises CompileError for an option that NVRTC would reject, too."""
    result = Options(
        std=source.std, fastmath=source.fastmath, debug=source.debug, lineinfo=source.lineinfo,
        wraps=source.is_python,
    )  # fmt: skip
    lines = ["#define NUMBALITE_DEBUG 1"] if source.has_checks else []
    includes = []
    rest = list(source.options)
    while rest:
        option = rest.pop(0)
        meaning, value = _split_option(option, rest, source.text)
        if meaning == "include":
            includes.append(value)
        elif meaning == "define":
            name, equals, text = value.partition("=")
            lines.append(f"#define {name} {text if equals else 1}")
            if name == "NDEBUG":
                lines.append("#include <assert.h>")
        elif meaning == "undefine":
            lines.append(f"#undef {value}")
        elif meaning == "before":
            lines.append(f'#include "{value}"')
        elif meaning == "std":
            result = result._replace(std=value)
        elif meaning == "fmad":
            result = result._replace(fmad=value != "false")
        elif meaning is not None:
            result = result._replace(**{meaning: True})  # type: ignore[arg-type]  # a flag
    return result._replace(includes=tuple(includes), before="".join(f"{x}\n" for x in lines))


def _split_option(option, rest, text):
    """Returns (meaning, value) of an option. If the value is a separate argument, removes it from `rest`."""
    name, equals, value = option.partition("=")
    if name in _OPTIONS:
        takes_value, meaning = _OPTIONS[name]
        if takes_value and not equals:
            if not rest:
                raise CompileError(f"the compiler option {option!r} lacks its value", source=text)
            value = rest.pop(0)
        return meaning, value
    for short in ("-I", "-D", "-U"):
        if option.startswith(short):
            return _OPTIONS[short][1], option[2:]
    bare = name.lstrip("-")
    if option.startswith("-") and (bare in _IGNORED or bare.startswith(("arch", "O"))):
        return None, ""
    raise CompileError(f"the compiler option {option!r} is not supported", source=text)
