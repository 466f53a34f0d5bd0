"""Reads NVRTC's log: its messages, without repetitions and hints, at the lines of the user's source.

The wording differs between releases, so only the structure of a log is used: an empty line ends a message. A
message and each of its notes begin with ``file(line): ``. Indented lines of a message name the source
positions that led to it. An error in one of numbalite's headers is reported at the last line of a user's file
that its message names, in any position and format.
"""

from __future__ import annotations

import functools
import re

from numbalite.compilers import headers
from numbalite.cxx import scanner

NOT_FOUND = re.compile(r'(?:cannot|could not) open source file "([^"]+)"')
_EXPRESSION = re.compile(r"#pragma nv_mangled_name (.*)")
_OLD_EXPRESSION = re.compile(r'Input name expression was: "(.*)"')  # older than 12.2
_DESCRIBED = re.compile(r"decltype\((.*)\)>>$")
_ENDING = re.compile(
    r"(?m)^(?:\d+ (?:catastrophic )?errors? detected .*|Compilation terminated\.)$"
)
_HINT = "Remark: The warnings can be suppressed"
_MAP = "__nv_name_map("

_WARNING = re.compile(
    r"(?P<file>[^\n]+?)\((?P<line>\d+)\): warning #(?P<number>\d+)(?:-D)?: (?P<text>[^\n]*)"
)
_NOTE = re.compile(r"(?P<file>[^\s(][^\n(]*)\(\d+\): note\b|Note\b")
_TRIED = re.compile(
    r"[^\n]*\bnote #33\d\d-D: ", re.I
)  # matches a note about an overload that did not match
_CARET = re.compile(r"[ \t]*[\^~][ \t^~]*$")
# A position in any file: Matches `at line 3 of FILE`, `FILE(3): here` (NVRTC before 12.2), `FILE:3:`.
_LINE_OF = re.compile(r'\bline (?P<line>\d+) of "?(?P<file>[^"\n]+?)"?[ \t]*$')
_POSITION = re.compile(r'^[ \t]*"?(?P<file>[^\s(":][^\n(":]*)(?:\((?P<line>\d+)\)|:(?P<row>\d+)):')
_DIRECTIVE = re.compile(r'(?m)^[ \t]*#[ \t]*line[ \t]+\d+[ \t]+"((?:[^"\\\n]|\\.)*)"')
_STATIC_ASSERTION = re.compile(r"static assertion failed with ")


def parse_messages(log: str) -> list[str]:
    """Returns the compiler's messages, each with the source lines shown in the log."""
    text = _ENDING.sub("", log.replace("\0", ""))
    blocks = (block.strip("\n") for block in re.split(r"\n[ \t]*\n", text))
    return [block for block in blocks if block.strip() and not block.startswith(_HINT)]


def without_library_warnings(found, directories) -> list[str]:
    """Drops warnings about headers of the toolkit and of numbalite."""
    foreign = (*directories, *headers.memory_headers())
    return [m for m in found if not (m.startswith(foreign) and "): warning" in m)]


def parse_warnings(log: str) -> list[tuple[str, str, str, int, list[str]]]:
    """Returns (number, text, file, line, shown source lines) of each warning."""
    found = []
    for message in parse_messages(log):
        match = _WARNING.match(message)
        if match is not None:
            shown = message.split("\n")[1:]
            found.append((match["number"], match["text"], match["file"], int(match["line"]), shown))
    return found


def has_header_errors(log: str, directories) -> bool:
    """Returns whether one of the errors is in a header, not in the user's text."""
    foreign = (*directories, *headers.memory_headers())
    return any(m.startswith(foreign) and "error" in m for m in parse_messages(log))


def user_messages(found, source, text: str, directories=()) -> list[str]:
    """Returns the messages of a failed compilation for the user. `text`: what NVRTC compiled."""
    named = [source.name, *(re.sub(r"\\(.)", r"\1", one) for one in _DIRECTIVE.findall(text))]
    files = [one for one in dict.fromkeys(named) if one not in headers.memory_headers()]
    lines = [
        move_to_user_line(m, files, directories) for m in _expression_errors(found, source) or found
    ]
    return [m for m in lines if "): warning" not in m] or lines


def _expression_errors(found, source):
    """Reports each name expression that failed once, by its kernel or variable."""
    kept = []
    meant = {scanner.function_address(name): name for name in source.kernels if name.endswith(")")}
    # NVRTC 12.0 and 12.1 list the failed name expressions after all causes, in the order of the causes.
    old = iter(m[1].replace(" ", "") for m in map(_OLD_EXPRESSION.search, found) if m)
    for message in found:
        if message.startswith(_MAP):
            wanted = _EXPRESSION.search(message)
            text = message.partition("): ")[2].split("\n", 1)[0]
            if "name expression" in text:
                continue
            if wanted is None:
                name = next(old, None)
            else:
                name = (_DESCRIBED.search(wanted[1]) or wanted)[1].strip().removeprefix("&")
            if name is None:
                continue
            name = meant.get(name, name)
            message = f'in the name "{name}": {text}'
        if message not in kept and not message.startswith("numbalite/describe.cuh("):
            kept.append(message)
    return kept


def move_to_user_line(message: str, files=(), directories=()) -> str:
    """Returns a message at a line of the user's text, without notes about numbalite's headers and about each
    overload.

    `files` are the names of the user's files. A message about a file that is not numbalite's keeps its line.
    """
    own = tuple(f"{name}(" for name in headers.memory_headers())
    body, notes = _split_notes(message)
    head, separator, text = body.partition("): ")
    if separator and head.startswith(own):
        foreign = (*directories, *headers.memory_headers())
        found = _last_user_line(body, files, foreign) or _last_user_line(
            "\n".join(notes), files, foreign
        )
        if found:
            text = _STATIC_ASSERTION.sub("", text.split("\n", 1)[0])
            return f"{found[0]}({found[1]}): {text}"
    kept = [n for n in notes if not n.startswith(own) and not _TRIED.match(n)]
    return "\n".join(part for part in (body.rstrip(), *kept) if part) or message


def _split_notes(message):
    """Returns (the message without its notes, its notes). A note ends after the source line that the compiler
    shows with it."""
    body: list[str] = []
    notes: list[list[str]] = []
    of_note = False
    for line in message.split("\n"):
        if _NOTE.match(line):
            notes.append([line])
            of_note = True
        elif of_note and line[:1] in (" ", "\t") and not _LINE_OF.search(line):
            notes[-1].append(line)
            of_note = not _CARET.match(line)
        else:
            of_note = False
            body.append(line)
    return "\n".join(body), ["\n".join(note) for note in notes]


def _last_user_line(part, files, foreign):
    """Returns the last (file, line) of a user's file in these lines. Returns None if there is no such
    position."""
    best = None
    named = _find_position(tuple(files))
    for row in part.split("\n"):
        match = (named and named.search(row)) or _LINE_OF.search(row) or _POSITION.match(row)
        if match and not match["file"].startswith(foreign):
            found = match.groupdict()
            best = found["file"], found["line"] or found.get("row") or found.get("before")
    return best


@functools.lru_cache(maxsize=16)
def _find_position(files):
    """Returns a position in one of these files. Returns None without files."""
    if not files:
        return None
    names = "|".join(re.escape(one) for one in sorted(files, key=len, reverse=True))
    return re.compile(
        rf'(?:\bline (?P<before>\d+)\D{{1,9}})?(?<![\w/.])"?(?P<file>{names})"?'
        r"(?(before)|(?:\(|:|,? (?:at )?line )(?P<line>\d+))"
    )
