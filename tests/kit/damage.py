"""Damages the folders that the disk cache keeps for compilers, at random: `python damage.py CACHE SEED`."""

import random
import sys
from pathlib import Path


def _flip_bits(draw, raw):
    changed = bytearray(raw)
    for _ in range(draw.randint(1, 30)):
        changed[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
    return bytes(changed)


DAMAGES = [
    _flip_bits,
    lambda draw, raw: raw[: draw.randrange(len(raw))],
    lambda draw, raw: b"",
    lambda draw, raw: bytes(len(raw)),
    lambda draw, raw: raw + draw.randbytes(9),
]


def find_files(cache):
    """Returns the files of the folders that the cache keeps for compilers."""
    return sorted(path for path in Path(cache).glob("prelude-*/**/*") if path.is_file())


def damage_files(cache, seed):
    """Damages one file of each folder, or all files."""
    draw = random.Random(seed)
    files = find_files(cache)
    if draw.random() < 0.7:
        groups = {}
        for path in files:
            groups.setdefault(path.relative_to(cache).parts[0], []).append(path)
        files = [draw.choice(group) for group in groups.values()]
    for path in files:
        raw = path.read_bytes()
        path.write_bytes(draw.choice(DAMAGES)(draw, raw) if raw else b"x")


if __name__ == "__main__":
    damage_files(sys.argv[1], int(sys.argv[2]))
