"""Linking, without clang's driver in between: starting that takes longer than the linker does.

The driver is asked to say what it runs (-v) while it links the first image of a process; the next ones
are linked by the same command with other file names. Whatever goes wrong, the driver links.
"""

from __future__ import annotations

import shlex

_IN, _OUT = "in.o", "out.so"
_known = {}  # the driver's command -> the linker's with _IN and _OUT in it, None where it is not understood


def link(compiler, flags, source, output, run):
    """Links an object file as a clang's driver does: `compiler`, a command, with `flags`.

    run(command) runs something; what it gave for the last run, one of the driver where linking failed, is
    given back.
    """
    key = (*compiler, *flags)
    known = _known.get(key)
    if known:
        files = {_IN: source, _OUT: output}
        result = run([files.get(word, word) for word in known])
        if result.returncode == 0:
            return result
    command = [*compiler, source, "-o", output, *flags]
    if key not in _known:
        result = run([*command, "-v"])
        _known[key] = _linker(result.stderr.decode(errors="replace"), source, output)
        if result.returncode == 0:
            result.stderr = b""
            return result
    return run(command)


def _linker(text, source, output):
    """The linker's command in what a driver says with -v."""
    names = {source: _IN, output: _OUT}
    lines = [line for line in text.splitlines() if line.startswith(" ") and output in line]
    if len(lines) != 1:
        return None
    try:
        words = [names.get(word, word) for word in shlex.split(lines[0])]
    except ValueError:
        return None
    is_plain = words.count(_IN) == words.count(_OUT) == 1
    return words if is_plain and "-shared" in words else None
