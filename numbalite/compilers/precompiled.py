"""Precompiles headers within a process: NVRTC 12.8 and newer can store the compiler's state after reading
heavy headers, and later restore it.

A source that begins with includes of heavy headers (cooperative_groups.h, cuda/std/..., curand) needs seconds
for the headers, and a tenth of that time for the rest. These includes, which follow numbalite.cuh, become the
preamble, which is put before the source; the original includes cost nothing, because the headers have include
guards. NVRTC writes a precompiled header file when it compiles the first source with a preamble, and reads
this file for the next sources.

numbalite's own header is a preamble, too, with the code that describes kernels and is otherwise after the
source. Precompiling numbalite's header saves a fifth of a small kernel's compile time, and costs a third of
one compile time once. numbalite's header is therefore precompiled at the third source of a process.

The precompiled file is an image of NVRTC's memory, valid for this process only, and a modified file could
execute any code. Therefore, no other user may access the file: it is created in a folder that only the user
can write to, opened, and unlinked at once; the next compilation reads the file through its open file
descriptor. The unlinked file is freed when the process ends or is killed. The key of a preamble covers all
values that determine the file's contents. If precompiling fails (the disk is full, another library has moved
NVRTC's heap), the source is compiled without a precompiled header.
"""

from __future__ import annotations

import os
import re
from _thread import allocate_lock

from numbalite.compilers import cache, folders, headers
from numbalite.cxx.linemap import quote_label
from numbalite.errors import CompileError

SINCE = (12, 8)
_HEAVY = ("cuda/", "cub/", "thrust/", "cooperative_groups", "curand", "mma.h")
_OPTIONS = ("-pch", "--pch", "-create-pch", "--create-pch", "-use-pch", "--use-pch")
_FORCED = ("-include", "--pre-include", "-pre-include", "--options-file", "-optf", "@")
_MOST = 4  # maximum number of stored preambles; a heavy one occupies about 100 MB of disk
_PATIENCE = 2  # compilations before numbalite's header is precompiled
_OWN = "#include <numbalite.cuh>\n#include <numbalite/describe.cuh>\n"

_lock = allocate_lock()  # held only briefly
_kept: dict[str, CachedPreamble] = {}  # key -> CachedPreamble, the most recently used preamble last


class SharedFile:
    """An open file, closed when its last user releases it. `close` is a default argument because modules may
    no longer exist when the file is released."""

    def __init__(self, path):
        self.number = -1
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)

    def __del__(self, close=os.close):
        if self.number >= 0:
            close(self.number)


class CachedPreamble:
    """A preamble, and the file that NVRTC created from it, if it exists."""

    def __init__(self):
        self.lock = allocate_lock()  # lock, held by the thread that creates the file
        self.file = None
        self.works = True
        self.asked = 0


def _replace_locks_after_fork():
    """Called in a forked child: a thread that was creating a file does not exist in the child. Complete files
    stay valid."""
    global _lock
    _lock = allocate_lock()
    for key, kept in list(_kept.items()):
        kept.lock = allocate_lock()
        if kept.file is None:
            del _kept[key]


os.register_at_fork(after_in_child=_replace_locks_after_fork)


def compile_precompiled(run, source, text, arguments, directories):
    """Compiles `text` with its heavy headers precompiled. Returns None if the caller must compile without
    precompiled headers.

    run(text, options) calls NVRTC and returns a dict with "status" and "log"; arguments are its options,
    directories those of the toolkit. If the result has an error status, the source itself is wrong: the
    source would also fail without precompiled headers.
    """
    start = heavy_include_lines(source, text, directories)
    if not start or _has_option(arguments, _OPTIONS + _FORCED):
        return None
    kept = _find_preamble(
        cache.hash_values(start, arguments, source.headers, _file_stamps(start, directories))
    )
    kept.asked += 1
    if not kept.works or (start == _OWN and kept.asked <= _PATIENCE):
        return None
    whole = f'{start}namespace numbalite {{}}\n#line 1 "{quote_label(source.name)}"\n{text}'
    try:
        if kept.file is None:
            with kept.lock:
                if kept.file is None and kept.works:
                    return _without_header_messages(kept, _create_preamble(kept, run, whole))
        file = kept.file
        if file is None:
            return None
        return _without_header_messages(
            kept, run(whole, [f"--use-pch=/proc/self/fd/{file.number}"])
        )
    except CompileError:
        kept.works = False  # an internal error of NVRTC, not an error in the source
        return None


def _has_option(options, prefixes):
    return any(option.startswith(prefixes) for option in options)


# --- the preamble -------------------------------------------------------------------------------------

# Matches text before an #include that does not change its meaning: whitespace, comments, numbalite's lines.
_COMMENT = r"//(?:[^\n\\]|\\.)*|/\*.*?\*/"
_PASSED = re.compile(
    rf"(?:\s|{_COMMENT}|using namespace numbalite;|using numbalite::\w+;"
    r"|namespace numbalite \{ NUMBALITE_MATH[^\n]*\})+",
    re.DOTALL,
)
_LINE = re.compile(r"#[ \t]*(\w+)((?:[^\n\\]|\\.)*)", re.DOTALL)
_INCLUDED = re.compile(r'[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)[ \t]*(?://.*)?$', re.DOTALL)


def heavy_include_lines(source, text, directories) -> str:
    """Returns the #include lines of heavy headers, and of headers between them, at the beginning of a source.
    Without heavy headers, returns the #include of numbalite's header; or "" if the source does not begin with
    an #include."""
    names, own, is_heavy, at = [], [], False, 0
    places = headers.SearchFolders(source, directories)
    while True:
        passed = _PASSED.match(text, at)
        at = passed.end() if passed else at
        line = _LINE.match(text, at)
        if line is None or not (line[1] in ("include", "line") or line[2].strip() == "once"):
            break
        at = line.end()
        if line[1] != "include":
            continue
        included = _INCLUDED.match(line[2])
        name = included[1] or included[2] if included else ""
        if not included or not name or name in places.memory:
            break
        if name in headers.memory_headers():
            weighs = _is_heavy_header(name)
            # numbalite's headers that include no heavy header may also follow the heavy headers.
            if name.startswith("numbalite") and not weighs:
                own.append(name)
                continue
        elif places.is_toolkit_header(name, bool(included[1])):
            weighs = _is_heavy_header(name)
        else:
            break  # stop at the user's header, on which the following text may depend
        names.append(name)
        is_heavy |= weighs
    if not is_heavy:
        return _OWN if "numbalite.cuh" in own else ""
    return _OWN + "".join(f"#include <{name}>\n" for name in dict.fromkeys(names))


def _is_heavy_header(name):
    if name.startswith(_HEAVY):
        return True
    text = headers.memory_headers().get(name)
    return text is not None and any(n.startswith(_HEAVY) for n, _ in headers.included_names(text))


def _file_stamps(start, directories):
    """Returns (name, size, date) of each of the toolkit's files that a preamble includes."""
    found = []
    for name, _ in headers.included_names(start):
        for folder in directories:
            try:
                status = os.stat(os.path.join(folder, name))
            except OSError:
                continue
            found.append((name, status.st_size, status.st_mtime_ns))
            break
    return tuple(found)


# --- the cache of precompiled headers
# -------------------------------------------------------------------------------------


def _find_preamble(key):
    """Returns the CachedPreamble for a key, created if necessary; removes the least recently used."""
    with _lock:
        kept = _kept.pop(key, None) or CachedPreamble()
        _kept[key] = kept
        # The file of a preamble stays open as long as another thread holds it.
        for old in list(_kept)[:-_MOST]:
            del _kept[old]
    return kept


def _create_preamble(kept, run, text):
    """Compiles a source, and keeps the file that NVRTC created from its preamble."""
    try:
        working = folders.WorkingFolder(cache.usable_directory())
    except OSError:
        kept.works = False
        return None
    with working as folder:
        path = os.path.join(folder, "preamble.pch")
        result = run(text, [f"--create-pch={path}"])
        try:
            kept.file = SharedFile(path)
        except OSError:
            kept.works = False  # NVRTC created no file, for example because its heap is too small
    return result


_USED = re.compile(r'(?m)^"[^\n]*": (?:creating|using) precompiled header file "[^\n]*"\n*')
_ABOUT = re.compile(
    r"Warning #\d+(?:-D)?: [^\n]*(?:precompiled header|\bPCH\b)"  # a message without a line of the source
    # An error in the preamble (not enough memory): the source itself begins after the #line
    r"|[^\n]*\): warning #(?:639|20283)(?:-D)?: "
)
_BAD = re.compile(r"(?i)catastrophic error: [^\n]*precompiled header|internal error")


def _without_header_messages(kept, result):
    """Returns the result without messages about precompiled headers, or None if the precompiled headers caused
    the failure."""
    if result is None:
        return None
    log = _USED.sub("", result["log"])
    is_used = len(log) < len(result["log"])
    if not is_used:
        # Record the failure, so that later sources are compiled without a precompiled header, too
        kept.works = False
    if result["status"] and (not is_used or _BAD.search(log)):
        kept.works = False
        return None
    blocks = re.split(r"(\n[ \t]*\n)", log)
    result["log"] = "".join(block for block in blocks if not _ABOUT.match(block))
    return result
