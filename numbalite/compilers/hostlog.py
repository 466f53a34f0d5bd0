"""What g++ and clang++ say, told as NVRTC would: ``file(line): error: text``, then the line meant.

A message about a header of ours is moved to the user's line that led there: where the template was
instantiated, or the header included. What we reject on purpose carries the word "numbalite:"; where
there is such a message, the others are its consequences and are left out.
"""

from __future__ import annotations

import re

_MESSAGE = re.compile(r"^(?P<file>[^\n]*?):(?P<line>\d+):(?:(?P<column>\d+):)? "
                      r"(?P<kind>fatal error|error|warning|note): (?P<text>.*)$")  # fmt: skip
_REQUIRED = re.compile(r"^(?P<file>[^\n]*?):(?P<line>\d+):(?:\d+:)? +(?:recursively )?required ")
_INCLUDED = re.compile(r"^(?:In file included|\s+) from (?P<file>[^\n]*?):(?P<line>\d+)[:,]")
_UNDEFINED = re.compile(
    r"(?:^|[ (])(?P<file>[^\s:()]+):(?P<line>\d+)(?:\))?: undefined reference to [`'](?P<name>[^']*)'"
    r"|undefined (?:reference to|symbol:) [`']?(?P<plain>[^'\n]+)",
    re.MULTILINE,
)
_OURS = re.compile(r"numbalite: (.*?)(?:\"|'| \[-W|$)")
_NUMBER = re.compile(r"^ *\d+ \| ?|^ *\| ?")
_FLAG = re.compile(r" \[-W[\w=+-]+\]$|, use -\S+ to .*$")
_IN_FUNCTION = re.compile(r"^\S.*: In (?:function|member function|instantiation|lambda|substitution)")


class Message:
    """One error or warning: where, what, and the lines of source shown with it."""

    def __init__(self, kind, file, line, text):
        self.kind = "error" if kind == "fatal error" else kind
        self.file, self.line, self.text = file, line, text
        self.shown = []
        self.callers = []  # (file, line) that led to it, nearest first


def messages(log: str) -> list[Message]:
    """The errors and warnings of a compiler's log, in order."""
    found, ahead, showing = [], [], None
    for line in log.splitlines():
        match = _MESSAGE.match(line)
        if match is None:
            led = _REQUIRED.match(line) or _INCLUDED.match(line)
            if led is not None:
                ahead.append((led["file"], int(led["line"])))
                showing = None
            elif _IN_FUNCTION.match(line):
                showing = None
            elif showing is not None:
                showing.append(_NUMBER.sub("", line, count=1))
            continue
        if match["kind"] == "note":
            if found and ("requested here" in match["text"] or "expanded from" in match["text"]):
                found[-1].callers.append((match["file"], int(match["line"])))
            showing = None
            continue
        message = Message(match["kind"], match["file"], int(match["line"]), match["text"])
        message.callers, ahead = ahead, []
        found.append(message)
        showing = message.shown
    return found


def readable(log: str, ours, meanings=None) -> str:
    """The log's errors in NVRTC's shape; "" if it has none.

    `ours(file)` tells whether a file is none of the user's. `meanings` maps names of pretended files
    to what to say in front of an error there instead of a place.
    """
    errors = [m for m in messages(log) if m.kind == "error"]
    marked = [m for m in errors if "numbalite: " in m.text]
    texts = []
    for message in marked or errors:
        text = _text(message, ours, meanings or {})
        if text not in texts:
            texts.append(text)
    if not errors:
        texts = _undefined(log)
    return "\n".join(texts)


def warnings(log: str, ours) -> str:
    """The warnings about the user's own text."""
    kept = [m for m in messages(log) if m.kind == "warning" and not ours(m.file)]
    return "\n".join(_text(message, ours, {}) for message in kept)


def _text(message, ours, meanings):
    own = _OURS.search(message.text)
    text = own[1] if own else _FLAG.sub("", message.text)
    file, line, shown = message.file, message.line, message.shown
    if file in meanings:
        return f"{meanings[file]}: {text}"
    if ours(file):
        for caller in message.callers:
            if not ours(caller[0]) and caller[0] not in meanings:
                file, line = caller
                break
        else:
            meant = [meanings[caller[0]] for caller in message.callers if caller[0] in meanings]
            if meant:
                return f"{meant[0]}: {text}"
        shown = []
    head = f"{file}({line}): {message.kind}: {text}"
    return "\n".join([head, *(f"  {line}" for line in shown[:2] if not own)])


def _undefined(log):
    texts = []
    for match in _UNDEFINED.finditer(log):
        name = match["name"] or match["plain"]
        where = f"{match['file']}({match['line']}): " if match["file"] else ""
        text = f'{where}error: "{name.strip()}" is declared and used, but not defined'
        if text not in texts:
            texts.append(text)
    return texts
