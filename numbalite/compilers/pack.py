"""Reads and writes packs of compiled images of numbalite's own kernels. The package includes them, so that
first calls do not compile.

There is one pack for each architecture, images/sm_90.pack in the package. A pack contains the digest of the
CUDA C++ files and the compiler modules from which it was made; in a package whose files differ, the pack is
ignored. The key of an image covers the complete source and its options, but neither paths nor the user's
compiler: numbalite's own sources include only numbalite's headers and those of the toolkit. If the driver
rejects an image of a pack, the source is compiled (kernels/images.py).

Layout: The file consists of MAGIC, the digest, the number of images and of blocks as 32-bit integers; for
each image its key, its block, and offset and size in the decompressed block; for each block its offset in the
file and its size. The blocks, of about BLOCK bytes each, are compressed by LZMA: images of one block share
most of their code. All images of a function (of a reduction for each shape of array, say) are in one block,
if they fit, because a program that uses one of them probably uses the others.

`.ci/images` makes the packs of a release.
"""

from __future__ import annotations

import functools
import os
from struct import Struct
from typing import TYPE_CHECKING

from numbalite.compilers import cache, headers
from numbalite.compilers.image import Image

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numbalite.compilers.source import Source

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(_PACKAGE, "images")
BLOCK = 1 << 17
_CACHED_BLOCKS = 8
_MAGIC = b"numbalite pack\1"
_COUNTS, _IMAGE, _SPAN = Struct("<16s2I"), Struct("<16s3I"), Struct("<2I")


class Pack:
    """The images of one file."""

    def __init__(self, raw: bytes):
        """Raises ValueError if the bytes are not a pack."""
        start = len(_MAGIC) + _COUNTS.size
        if raw[: len(_MAGIC)] != _MAGIC or len(raw) < start:
            raise ValueError("not a pack")
        self.digest, images, blocks = _COUNTS.unpack_from(raw, len(_MAGIC))
        end = start + images * _IMAGE.size
        if end + blocks * _SPAN.size > len(raw):
            raise ValueError("the pack is truncated")
        self._raw = raw
        self._images = {key: span for key, *span in _IMAGE.iter_unpack(raw[start:end])}
        self._blocks = list(_SPAN.iter_unpack(raw[end : end + blocks * _SPAN.size]))
        self._block = functools.lru_cache(_CACHED_BLOCKS)(self._read_block)

    def __len__(self) -> int:
        return len(self._images)

    def _read_block(self, number):
        import lzma

        offset, size = self._blocks[number]
        return lzma.decompress(self._raw[offset : offset + size])

    def find_image(self, key: bytes) -> Image | None:
        """Returns the image of a key, or None. A damaged image counts as missing."""
        import lzma

        span = self._images.get(key)
        if span is None:
            return None
        number, offset, size = span
        try:
            return Image.from_bytes(self._block(number)[offset : offset + size])
        except (ValueError, IndexError, lzma.LZMAError):
            return None


def write_pack(path: str, functions: Iterable[Iterable[tuple[bytes, Image]]]) -> None:
    """Writes a pack of lists of (key, image), one list for each function."""
    import lzma

    blocks: list[list[bytes]] = [[]]
    index, size = [], 0
    for images in functions:
        made = [(key, image.replace(ptx=None, log="").to_bytes()) for key, image in images]
        needed = sum(len(one) for _, one in made)
        for key, one in made:
            if size + min(needed, BLOCK) > BLOCK and blocks[-1]:
                blocks.append([])
                size = 0
            index.append((key, len(blocks) - 1, size, len(one)))
            blocks[-1].append(one)
            size += len(one)
            needed -= len(one)
    packed = [lzma.compress(b"".join(parts), preset=9 | lzma.PRESET_EXTREME) for parts in blocks]
    offset = len(_MAGIC) + _COUNTS.size + len(index) * _IMAGE.size + len(packed) * _SPAN.size
    parts = [_MAGIC, _COUNTS.pack(digest_of_sources(), len(index), len(packed))]
    parts += [_IMAGE.pack(*entry) for entry in index]
    for block in packed:
        parts.append(_SPAN.pack(offset, len(block)))
        offset += len(block)
    with open(path, "wb") as file:
        file.write(b"".join((*parts, *packed)))


def load_image(source: Source, target: tuple) -> Image | None:
    """Returns the image of a source in the pack for a target, or None."""
    if target[0] != "cuda":
        return None
    found = _target_pack(target[1], target[2])
    return None if found is None else found.find_image(source_key(source))


def source_key(source: Source) -> bytes:
    """Returns the key of a source; the key is equal for equal packages in different folders."""
    return cache.hash_values(cache.SCHEMA, tuple(portable_source(source)))


def portable_source(source: Source) -> Source:
    """Returns the source without the path of this package."""
    return source.replace(
        text=source.text.replace(_PACKAGE, "numbalite"),
        name=source.name.replace(_PACKAGE, "numbalite"),
    )


@functools.cache
def _target_pack(major: int, minor: int) -> Pack | None:
    """Returns the pack for a compute capability: that of its own architecture, or of an earlier one
    with the same major number."""
    for number in range(minor, -1, -1):
        try:
            with open(os.path.join(FOLDER, f"sm_{major}{number}.pack"), "rb") as file:
                pack = Pack(file.read())
        except (OSError, ValueError):
            continue
        if pack.digest == digest_of_sources():
            return pack
    return None


@functools.cache
def digest_of_sources() -> bytes:
    """Returns a digest of the names and contents of the files from which images for GPUs are
    made."""
    source = headers.cuda_src()
    folders = [f"{source}/{name}" for name in ("numbalite", "templates", "templates/elements")]
    paths = [f"{source}/numbalite.cuh", f"{_PACKAGE}/types/describe.py"]
    for folder in (*folders, f"{_PACKAGE}/compilers"):
        paths += sorted(entry.path for entry in os.scandir(folder) if entry.is_file())
    digest = cache.blake2b(digest_size=16)
    for path in paths:
        with open(path, "rb") as file:
            text = file.read()
        digest.update(f"{os.path.basename(path)} {len(text)}\n".encode() + text)
    return digest.digest()
