"""Translates messages of g++ and clang++ into NVRTC's form: ``file(line): error: text``, then
the source line.

A message about one of numbalite's headers is moved to the line of the user that instantiates the template,
uses the macro or includes the header. Messages of numbalite's static assertions contain "numbalite:". If a
message contains "numbalite:" or is about the user's text, the other messages are its consequences and are
omitted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numbalite.compilers import longlines
from numbalite.compilers.sim import divisions
from numbalite.cxx import linemap

if TYPE_CHECKING:
    from collections.abc import Iterator

_MESSAGE = re.compile(r"^(?P<file>[^\n]*?):(?P<line>\d+):(?:(?P<column>\d+):)? "
                      r"(?P<kind>fatal error|error|warning|note): (?P<text>.*)$")  # fmt: skip
_REQUIRED = re.compile(r"^(?P<file>[^\n]*?):(?P<line>\d+):(?:\d+:)? +"
                       r"(?:(?:recursively )?required |in 'constexpr' expansion )")  # fmt: skip
_INCLUDED = re.compile(r"^(?:In file included|\s+) from (?P<file>[^\n]*?):(?P<line>\d+)[:,]")
_LED_BY_NOTE = ("requested here", "expanded from", "in expansion of macro")
_UNDEFINED = re.compile(
    r"(?:^|[ (])(?P<file>[^\s:()]+):(?P<line>\d+)(?:\))?: undefined reference to [`'](?P<name>[^']*)'"
    r"|undefined (?:reference to|symbol:) [`']?(?P<plain>[^'\n]+)",
    re.MULTILINE,
)
_OURS = re.compile(r"numbalite: (.*?)(?:\"|'| \[-W|$)")
# The compiler's last step, which may have no position, reports NUMBALITE_SIM_ASM_USED (prelude.h).
_USED = re.compile(r"^.*?error: call to .* declared with (?:'error' attribute|attribute error): "
                   r"(?P<text>numbalite: .*), at (?P<file>.*):(?P<line>\d+)$", re.MULTILINE)  # fmt: skip
_QUOTED = re.compile(r"'([^']+)'")
_NUMBER = re.compile(r"^ *\d+ \| ?|^ *\| ?")
_FLAG = re.compile(r" \[-(?:W[\w=+,-]+|fpermissive)\]$")
_ASSERTION = re.compile(
    r"static[_ ]assert(?:ion)? failed(?: due to requirement '.*?')?(?:: (.*)| \"(.*)\")$"
)
_MISSING = re.compile(r"^(?:'(?P<a>[^']+)' file not found|(?P<b>\S+): No such file or directory)$")
_PTX = re.compile(r"'(\w+)' (?:in namespace|is not a member of) 'cuda::ptx'")
_DYNAMIC = re.compile(r"variable(?: '\w+')? does not have a constant initializer")
_DIVISOR = re.compile(r"numbalite_sim::(?:any_)?divisor<([^<>]*)>")
_OPERANDS = re.compile(r"no match for|invalid operands|ambiguous overload")
_NOISE = re.compile(r"^\S.*: In (?:function|member function|instantiation|lambda|substitution)"
                    r"|^compilation terminated|^\d+ errors? generated|^\S+: At global scope")  # fmt: skip


class Message:
    """One error or warning: its position, its text, the source lines shown with the message, and the
    positions of its instantiations and #includes."""

    def __init__(self, match, required, included):
        self.kind = match["kind"].removeprefix("fatal ")
        self.file, self.line, self.text = match["file"], int(match["line"]), match["text"]
        self.column = int(match["column"] or 0)
        self.shown = []
        self.required, self.included = required, included


def parse_messages(log: str) -> list[Message]:
    """Returns the errors and warnings of a compiler's log, in order."""
    found: list[Message] = []
    required: list[tuple[str, int]] = []
    included: list[tuple[str, int]] = []
    showing = None
    for line in log.splitlines():
        match = _MESSAGE.match(line)
        if match is None:
            led, listed = _REQUIRED.match(line), required
            if led is None:
                led, listed = _INCLUDED.match(line), included
            if led is not None:
                listed.append((led["file"], int(led["line"])))
                showing = None
            elif _NOISE.match(line):
                showing = None
            elif showing is not None:
                showing.append(_NUMBER.sub("", line, count=1))
        elif match["kind"] == "note":
            if found and any(words in match["text"] for words in _LED_BY_NOTE):
                found[-1].required.append((match["file"], int(match["line"])))
            showing = None
        else:
            found.append(Message(match, required, included))
            required, included, showing = [], [], found[-1].shown
    return found


def warnings_as_errors(log: str, words, ours) -> str:
    """Returns the warnings about the user's text that contain these words, as errors, or "" if there
    are none."""
    found = []
    for message in parse_messages(log):
        if message.kind == "warning" and words.search(message.text) and not ours(message.file):
            found.append(f"{message.file}:{message.line}:1: error: {message.text}")
            found += message.shown
    return "\n".join(found)


class LogReader:
    """Translates a log. `source` is the user's source, with a #line at its beginning. `read` is the text that
    the compiler read, with the same positions. `ours(file)` returns whether a file belongs to numbalite.

    `meanings` maps names of generated files to a prefix that replaces the position of an error in such a
    file; `marked` is True if the compiler read the source with the marks of divisions.py.
    """

    def __init__(self, source, read, ours, meanings, marked=False):
        self.marked = marked
        self.read = read
        self.source, self.ours, self.meanings = source, ours, meanings
        self._read_lines = None
        self._source_lines = None

    def errors(self, log: str) -> str:
        """Returns the errors in a compiler's log, or "" if there are none."""
        log = _USED.sub(r"\g<file>:\g<line>:1: error: \g<text>", log)
        errors = [m for m in parse_messages(log) if m.kind == "error" and not _is_operator_note(m)]
        if not errors:
            return "\n".join(self._undefined_symbols(log))
        placed = [(m, self._user_location(m)) for m in errors]
        own = [(m, place) for m, place in placed if place and place[0] not in self.meanings]
        marked = [(m, place) for m, place in placed if "numbalite: " in m.text]
        texts, said = [], set()
        for message, place in marked or own or placed:
            meaning = self.meanings.get((place or (message.file, 0))[0])
            if meaning is not None:
                if meaning in said:
                    continue
                said.add(meaning)
            text = self._message_text(message, place, meaning)
            if text not in texts:
                texts.append(text)
        return "\n".join(texts)

    def warnings(self, log: str) -> str:
        """Returns the warnings about the user's text."""
        kept = [m for m in parse_messages(log) if m.kind == "warning" and not self.ours(m.file)]
        return "\n".join(self._message_text(m, (m.file, m.line), None) for m in kept)

    def _user_location(self, message):
        """Returns the first (file, line) of a message, its instantiations and its #includes that is in the
        user's text; otherwise the first position in a file of `meanings`, or None."""
        places = [(message.file, message.line), *message.required, *message.included]
        for place in places:
            if not self.ours(place[0]) and place[0] not in self.meanings:
                return place
        return next((place for place in places if place[0] in self.meanings), None)

    def _message_text(self, message, place, meaning):
        text = _reworded_text(message.text)
        if meaning is not None:
            return f"{meaning}: {text}"
        file, line = place or (message.file, message.line)
        shown = []
        if (file, line) == (message.file, message.line):
            shown = self._line_with_caret(message) or message.shown[:2]
        if not any(part.strip() for part in shown) or "NUMBALITE_SIM" in shown[0]:
            shown = [self._source_line(file, line)]
        if self.marked and len(shown) == 2:
            shown = [shown[0], divisions.marker_line_without_marks(*shown)]
        head = f"{file}({line}): {message.kind}: {text}"
        parts = [head, *(f"  {part}" for part in shown if part.strip())]
        return longlines.shorten_lines("\n".join(parts))

    def _line_with_caret(self, message):
        """Returns the user's line and a line with a caret if g++ did not show them, else []. g++ shows lines
        of the file of that name, which may not exist or may contain other text."""
        place = message.file, message.line
        lines = [
            divisions.remove_division_marks(text) for text in self._compiled_lines().get(place, ())
        ]
        if any(message.shown[0].split() == line.split() for line in lines if message.shown):
            return []
        if len(lines) > 1:  # the lines of a source text in memory
            meant = _QUOTED.findall(message.text)
            lines = [t for t in lines if any(t.startswith(m, message.column - 1) for m in meant)]
        given = self._user_lines().get(place, ())
        if len(lines) != 1 or lines[0] not in given:  # the line was translated
            return []
        return [lines[0].expandtabs(), " " * (message.column - 1) + "^"]

    def _source_line(self, file, line):
        """Returns the text of a source line, from its position according to #line, or "" if the line is
        unknown."""
        return next(iter(self._user_lines().get((file, line), ())), "")

    def _compiled_lines(self):
        if self._read_lines is None:
            self._read_lines = _texts_by_position(self.read)
        return self._read_lines

    def _user_lines(self):
        if self._source_lines is None:
            self._source_lines = _texts_by_position(self.source)
        return self._source_lines

    def _undefined_symbols(self, log):
        texts = []
        for match in _UNDEFINED.finditer(log):
            name = match["name"] or match["plain"]
            where = f"{match['file']}({match['line']}): " if match["file"] else ""
            text = f'{where}error: "{name.strip()}" is declared and used, but not defined'
            if text not in texts:
                texts.append(text)
        return texts


def _is_operator_note(message):
    """Returns whether the message is only g++'s note that an operator of sim/division.h does not match."""
    return message.file.endswith("sim/division.h") and _OPERANDS.match(message.text)


def texts_by_line(source: str) -> dict:
    """Returns {(file, line): text} for a source with #line directives; the first text if several lines have
    the same position."""
    found: dict[tuple, str] = {}
    for place, text in lines_with_origin(source):
        found.setdefault(place, text)
    return found


def _texts_by_position(source):
    """Returns {(file, line): the texts of the lines with that position}."""
    found: dict[tuple, list] = {}
    for place, text in lines_with_origin(source):
        found.setdefault(place, []).append(text)
    return found


def lines_with_origin(source: str) -> Iterator[tuple[tuple[str, int], str]]:
    """Yields ((file, line), text) of each line of a source with #line directives."""
    for place, text in zip(linemap.line_positions(source), source.split("\n"), strict=True):
        if place[1]:
            yield place, text


def _reworded_text(text):
    own = _OURS.search(text)
    if own:
        return own[1]
    ptx = _PTX.search(text)
    if ptx:
        return f"PTX (cuda::ptx::{ptx[1]}) cannot run on the CPU simulator"
    if _DYNAMIC.search(text):
        return "dynamic initialization is not supported: no GPU would run it"
    text = _DIVISOR.sub(r"\1", text)
    text = _FLAG.sub("", text).replace("numbalite::groups", "cooperative_groups")
    assertion = _ASSERTION.match(text)
    if assertion:
        return f'static assertion failed with "{assertion[1] or assertion[2]}"'
    missing = _MISSING.match(text)
    if missing:
        name = missing["a"] or missing["b"]
        return f'cannot open source file "{name}" (on the CPU, not all of the toolkit\'s headers are there)'
    return text
