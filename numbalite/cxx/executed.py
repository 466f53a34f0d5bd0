"""Stores the source texts that a program passes to ``exec``, because no file contains them. After `watch_exec`,
the source of functions defined by ``exec`` is available."""

from __future__ import annotations

import itertools
import linecache
import sys
import threading
import types
import weakref

_pending = threading.local()
"""The text that the thread compiled last, and its file name."""
_texts: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
"""Code of a function -> the text that contains it."""
_names: dict[str, str] = {}
"""Text -> its name in linecache."""
_numbers = itertools.count(1)
is_watching = False
"""Is numba an alias of numbalite in this process? Then its programs were written for numba."""


def watch_exec() -> None:
    """Stores the texts passed to ``exec`` from now on, for the rest of the process."""
    global is_watching
    is_watching = True
    sys.addaudithook(_record_exec_text)


def source_name(code: types.CodeType) -> str:
    """Returns the name of a function's source in linecache."""
    text = _texts.get(code)
    if text is None:
        return code.co_filename
    if text not in _names:
        name = _names[text] = f"<exec {next(_numbers)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return _names[text]


def _record_exec_text(event, args):
    """Stores texts that exec() compiles. This audit hook is called when Python compiles a text, and when
    Python executes the code."""
    if event == "compile":
        text, name = args
        if isinstance(text, bytes):
            text = text.decode(errors="replace")
        is_nameless = str(name).startswith("<") and str(name) not in linecache.cache
        is_wanted = is_nameless and isinstance(text, str) and ("def " in text or "lambda" in text)
        _pending.last = (str(name), text) if is_wanted else None
    elif event == "exec":
        last = getattr(_pending, "last", None)
        if last is not None and args[0].co_filename == last[0]:
            _store_text(args[0], last[1])
            _pending.last = None


def _store_text(code, text):
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _texts[inner] = text
            _store_text(inner, text)
