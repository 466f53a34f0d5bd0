"""Reads the part of the Itanium C++ name mangling that names of types need.

NVRTC returns the mangled names of compiled functions; describe.py reads the types in these names. Names of
functions with expressions in their signature, lambdas and similar constructs do not occur in descriptions,
and raise ValueError.
"""

from __future__ import annotations

BUILTINS = {
    "v": "void",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "n": "__int128",
    "o": "unsigned __int128",
    "f": "float",
    "d": "double",
    "e": "long double",
    "g": "__float128",
    "w": "wchar_t",
    "z": "...",
    "Di": "char32_t",
    "Ds": "char16_t",
    "Du": "char8_t",
    "Dh": "_Float16",
    "Dn": "decltype(nullptr)",
    "Da": "auto",
}
STD = {
    "Sa": "std::allocator",
    "Sb": "std::basic_string",
    "Ss": "std::string",
    "Si": "std::istream",
    "So": "std::ostream",
    "Sd": "std::iostream",
}
LITERAL_SUFFIXES = {"int": "", "bool": "", "unsigned int": "u", "long": "l", "long long": "ll"}


class _Reader:
    """Recursive descent over a mangled name; `seen` contains the components that back references (S_, S0_)
    denote."""

    def __init__(self, text):
        self.text = text
        self.at = 0
        self.seen = []

    def peek(self, prefix):
        return self.text.startswith(prefix, self.at)

    def take_prefix(self, prefix):
        if self.peek(prefix):
            self.at += len(prefix)
            return True
        return False

    def expect_prefix(self, prefix):
        if not self.take_prefix(prefix):
            raise ValueError(f"cannot read {self.text!r} at {self.at}: expected {prefix!r}")

    def next_character(self):
        if self.at >= len(self.text):
            raise ValueError(f"{self.text!r} ends early")
        return self.text[self.at]

    def number(self):
        start = self.at
        while self.at < len(self.text) and self.text[self.at].isdigit():
            self.at += 1
        if self.at == start:
            raise ValueError(f"cannot read {self.text!r} at {start}: expected a number")
        return int(self.text[start : self.at])

    def remember_substitution(self, text):
        self.seen.append(text)
        return text

    def substitution(self):
        """Reads, after "S", a back reference "_" or "<base 36>_"."""
        end = self.text.find("_", self.at)
        digits = self.text[self.at : end]
        if end < 0:
            raise ValueError(f"cannot read {self.text!r} at {self.at}")
        self.at = end + 1
        index = int(digits, 36) + 1 if digits else 0
        if index >= len(self.seen):
            raise ValueError(f"{self.text!r} refers back to nothing")
        return self.seen[index]

    def source_name(self):
        size = self.number()
        name = self.text[self.at : self.at + size]
        if len(name) != size:
            raise ValueError(f"{self.text!r} ends early")
        self.at += size
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N_") else name

    def unqualified(self):
        self.take_prefix("L")  # internal linkage
        if self.take_prefix("Ut"):
            number = "" if self.peek("_") else self.number()
            self.expect_prefix("_")
            return f"(unnamed {number})".replace(" )", ")")
        name = self.source_name()
        while self.take_prefix("B"):  # ABI tags
            self.source_name()
        return name

    def arguments(self):
        """Reads, after "I", template arguments up to "E", as texts."""
        found = []
        while not self.take_prefix("E"):
            found.extend(self.argument())
        return found

    def argument(self):
        if self.take_prefix("J"):
            return self.arguments()
        if self.take_prefix("L"):
            return [self.literal()]
        if self.peek("X"):
            raise ValueError(f"{self.text!r} has an expression in it")
        return [self.type()]

    def literal(self):
        if self.take_prefix("_Z"):  # the address of something
            name = self.encoding()
            self.expect_prefix("E")
            return "&" + name
        kind = self.type()
        end = self.text.find("E", self.at)
        if end < 0:
            raise ValueError(f"{self.text!r} ends early")
        value = self.text[self.at : end].replace("n", "-")
        self.at = end + 1
        if kind == "bool":
            return "true" if value == "1" else "false"
        if kind in LITERAL_SUFFIXES:
            return value
        return f"({kind}){value}"

    def instance(self, template):
        return f"{template}<{', '.join(self.arguments())}>"

    def nested(self):
        """Parses a nested name after "N": qualifiers, then names and template arguments up to
        "E"."""
        while self.next_character() in "rVK":
            self.at += 1
        text = ""
        while not self.take_prefix("E"):
            if self.take_prefix("I"):
                text = self.remember_substitution(self.instance(text))
            elif self.take_prefix("St"):
                text = "std"
            elif self.take_prefix("S"):
                text = self.standard_or_substitution()
            else:
                name = self.unqualified()
                text = self.remember_substitution(f"{text}::{name}" if text else name)
        # Removes the last candidate: only the complete name of a type is a candidate, which type() or encoding() adds.
        self.seen.pop()
        return text

    def standard_or_substitution(self):
        two = "S" + self.next_character()
        if two in STD:
            self.at += 1
            return STD[two]
        return self.substitution()

    def encoding(self):
        """Reads a function or variable. Returns the name with template arguments; the rest of the text is not
        read."""
        if self.take_prefix("N"):
            return self.nested()
        name = self.unqualified()
        if self.take_prefix("I"):
            self.remember_substitution(name)
            name = self.instance(name)
        return name

    def function(self):
        """Reads, after "F", the result and the parameters up to "E"."""
        self.take_prefix("Y")
        result = self.type()
        parameters = []
        while not self.take_prefix("E"):
            parameters.append(self.type())
        listed = "" if parameters == ["void"] else ", ".join(parameters)
        return f"{result} ({listed})"

    def named(self):
        """Reads a class or an enum. Returns the name with template arguments."""
        if self.take_prefix("N"):
            return self.remember_substitution(self.nested())
        if self.take_prefix("St"):
            name = self.remember_substitution("std::" + self.unqualified())
        elif self.take_prefix("S"):
            name = self.standard_or_substitution()
            if not self.peek("I"):
                return name
        else:
            name = self.remember_substitution(self.unqualified())
        if self.take_prefix("I"):
            name = self.remember_substitution(self.instance(name))
        return name

    def type(self):
        """Reads a type. Returns the type's usual spelling ("const float*")."""
        here = self.next_character()
        for builtin in (self.text[self.at : self.at + 2], here):
            if builtin in BUILTINS:
                self.at += len(builtin)
                return BUILTINS[builtin]
        if self.take_prefix("DF"):
            bits = self.number()
            mark = self.next_character()
            self.at += 1
            return "std::bfloat16_t" if mark == "b" else f"_Float{bits}"
        if self.take_prefix("Do"):  # noexcept function
            return self.type()
        if self.take_prefix("u"):
            return self.remember_substitution(self.source_name())
        if here in "rVK":
            words = []
            while self.next_character() in "rVK":
                words.append(
                    {"r": "__restrict__", "V": "volatile", "K": "const"}[self.next_character()]
                )
                self.at += 1
            words.reverse()
            inner = self.type()
            if inner[-1] in "*&" or _find_outside_templates(inner, " (") >= 0:
                return self.remember_substitution(" ".join([inner, *words]))
            return self.remember_substitution(" ".join([*words, inner]))
        for mark, symbol in (("P", "*"), ("R", "&"), ("O", "&&")):
            if self.take_prefix(mark):
                return self.remember_substitution(_insert_declarator(self.type(), symbol))
        if self.take_prefix("A"):
            extent = "" if self.peek("_") else self.number()
            self.expect_prefix("_")
            return self.remember_substitution(_array(self.type(), extent))
        if self.take_prefix("F"):
            return self.remember_substitution(self.function())
        if self.take_prefix("M"):
            owner = self.type()
            return self.remember_substitution(_insert_declarator(self.type(), f" {owner}::*"))
        if here in "NSLU" or here.isdigit():
            return self.named()
        raise ValueError(f"cannot read {self.text!r} at {self.at}")


def _insert_declarator(inner, symbol):
    """Returns `inner` with a * or & at the position that C++ syntax requires."""
    for mark in (" (*", " (&"):
        if mark in inner:
            return inner.replace(mark, f"{mark}{symbol}", 1)
    for mark in (" (", " ["):
        at = _find_outside_templates(inner, mark)
        if at >= 0:
            return f"{inner[:at]} ({symbol}){inner[at:].lstrip()}"
    return inner + symbol


def _array(inner, extent):
    at = _find_outside_templates(inner, " [")
    if at >= 0:
        return f"{inner[:at]} [{extent}]{inner[at + 1 :]}"
    return f"{inner} [{extent}]"


def _find_outside_templates(text, mark):
    """Returns the position of `mark` in `text` outside of template arguments, or -1."""
    depth = 0
    for at, char in enumerate(text):
        if depth == 0 and text.startswith(mark, at) and not text.startswith(" (anonymous", at):
            return at
        depth += (char == "<") - (char == ">")
    return -1


def demangle(name: str) -> str:
    """Returns the demangled name ("_ZN1n1vIPKfEE" -> "n::v<const float*>"); raises ValueError if the name is
    not mangled, or has an unsupported construct. A function's parameters are left out."""
    if not name.startswith("_Z"):
        raise ValueError(f"{name!r} is not a mangled name")
    reader = _Reader(name)
    reader.at = 2
    return reader.encoding()
