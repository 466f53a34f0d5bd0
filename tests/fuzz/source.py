"""Converts a fuzzer's bytes to values: a FuzzSource is read sequentially, and returns 0 after its
end."""

from numbalite import errors

# Exceptions that a user's mistake may raise.
EXPECTED = (
    TypeError, ValueError, OverflowError, IndexError, KeyError, NotImplementedError, BufferError,
    AttributeError, RuntimeError, MemoryError, ZeroDivisionError, ImportError, errors.NumbaliteError,
)  # fmt: skip

INTERESTING = (
    0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 1023, 1024, 65535, 65536, 2**31 - 1, 2**31,
    2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**200,
)  # fmt: skip


class FuzzSource:
    def __init__(self, data):
        self.data = data
        self.at = 0

    @property
    def is_empty(self):
        return self.at >= len(self.data)

    def byte(self):
        value = self.data[self.at] if self.at < len(self.data) else 0
        self.at += 1
        return value

    def bytes(self, count):
        piece = self.data[self.at : self.at + count]
        self.at += count
        return piece

    def remaining_bytes(self):
        return self.bytes(len(self.data))

    def integer_below(self, limit):
        """0 to limit - 1; limit at most 65536."""
        value = self.byte()
        if limit > 256:
            value = value << 8 | self.byte()
        return value % limit

    def draw_flag(self, of=2):
        """Returns True in one of `of` calls on average."""
        return self.byte() % of == of - 1

    def pick_item(self, items):
        return items[self.integer_below(len(items))]

    def integer(self, small=16):
        """Returns mostly small numbers, else a number at a limit of some type."""
        kind = self.integer_below(8)
        if kind < 4:
            return self.integer_below(small)
        if kind < 6:
            return -self.integer_below(small)
        if kind == 6:
            return self.pick_item(INTERESTING) + self.pick_item((0, -1, 1))
        return -self.pick_item(INTERESTING)

    def word(self, bits=64, signed=True):
        """Returns a number that a C integer can represent."""
        value = self.integer() & ((1 << bits) - 1)
        return value - (1 << bits) if signed and value >> (bits - 1) else value

    def text(self, tokens, most=24):
        """Generates a sequence of tokens, with an occasional random character."""
        parts = []
        for _ in range(self.integer_below(most + 1)):
            parts.append(
                chr(self.integer_below(0x300)) if self.draw_flag(12) else self.pick_item(tokens)
            )
        return "".join(parts)

    def mutate_bytes(self, data, most=6):
        """Returns the bytes with a few changes: other bytes, parts removed, doubled or moved, a
        truncated end."""
        data = bytearray(data)
        for _ in range(1 + self.integer_below(most)):
            if not data:
                return b"\0"
            at = int.from_bytes(self.bytes(3), "little") % len(data)
            kind = self.integer_below(8)
            if kind < 3:
                data[at] ^= 1 << self.integer_below(8)
            elif kind == 3:
                data[at] = self.byte()
            elif kind == 4:
                value = self.word(64, signed=False).to_bytes(8, "little")
                data[at : at + 8] = value[: len(data) - at]
            elif kind == 5:
                del data[at : at + self.integer_below(64)]
            elif kind == 6:
                data[at:at] = data[at : at + self.integer_below(64)]
            else:
                del data[at:]
        return bytes(data)


def call_or_exception(function, *args, **keywords):
    """Returns (answer, None) or (None, exception)."""
    try:
        return function(*args, **keywords), None
    except EXPECTED as problem:
        return None, problem
