"""Tests packs: compiled images in the package."""

import pathlib
import random

import pytest
from kit.needs import needs_nvrtc

from numbalite import compilers
from numbalite.compilers import cache, pack
from numbalite.compilers.image import Image
from numbalite.compilers.source import Source

TARGET = "cuda", 9, 0


def make_image(number):
    text = random.Random(number).randbytes(50 * number)
    return Image("cubin", text, "sm_90", {"k": f"k{number}"}, {}, source=f"source {number}")


def make_pack_entries(count):
    return [(cache.hash_values(number), make_image(number)) for number in range(count)]


@pytest.fixture
def pack_folder(tmp_path, monkeypatch):
    """Returns a folder for packs; clears the cached contents of other packs."""
    monkeypatch.setattr(pack, "FOLDER", str(tmp_path))
    pack._target_pack.cache_clear()
    yield tmp_path
    pack._target_pack.cache_clear()


@pytest.mark.parametrize("block", [1, 3000, 1 << 20])
def test_packed_images_are_read_unchanged(pack_folder, monkeypatch, block):
    monkeypatch.setattr(pack, "BLOCK", block)
    written = make_pack_entries(40)
    pack.write_pack(
        pack_folder / "a.pack", [[(k, i.replace(ptx=b"ptx", log="log"))] for k, i in written]
    )
    read = pack.Pack((pack_folder / "a.pack").read_bytes())
    assert len(read) == 40 and read.digest == pack.digest_of_sources()
    for key, expected in random.Random(block).sample(written, 40):
        assert read.find_image(key) == expected
    assert read.find_image(cache.hash_values("another")) is None


def test_images_of_a_function_are_in_one_block(pack_folder, monkeypatch):
    written = make_pack_entries(40)
    functions = [written[at : at + 4] for at in range(0, 40, 4)]
    monkeypatch.setattr(pack, "BLOCK", 10_000)
    pack.write_pack(pack_folder / "a.pack", functions)
    read = pack.Pack((pack_folder / "a.pack").read_bytes())
    blocks = [{read._images[key][0] for key, _ in images} for images in functions]
    assert all(len(numbers) == 1 for numbers in blocks) and 1 < len(set.union(*blocks)) < 10


def test_a_damaged_pack_loses_images_and_raises_nothing_else(pack_folder):
    path = pack_folder / "a.pack"
    written = make_pack_entries(5)
    pack.write_pack(path, [written])
    raw = path.read_bytes()
    draw = random.Random(1)
    for _ in range(300):
        damaged = bytearray(raw[: draw.randrange(len(raw))] if draw.random() < 0.3 else raw)
        for _ in range(draw.randrange(1, 4)):
            if damaged:
                damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        try:
            read = pack.Pack(bytes(damaged))
        except ValueError:
            continue
        for key, _ in written:
            assert isinstance(read.find_image(key), Image | None)


def test_the_key_does_not_depend_on_the_folder_of_the_package():
    package = str(pathlib.Path(compilers.__file__).parents[1])
    here = Source(f'#line 1 "{package}/ufuncs/add.py"\nint x;', f"{package}/add.cu", ("k",))
    assert pack.portable_source(here).text == '#line 1 "numbalite/ufuncs/add.py"\nint x;'
    assert pack.source_key(here) == pack.source_key(pack.portable_source(here))
    for other in (
        here.replace(text="int y;"),
        here.replace(kernels=("l",)),
        here.replace(options=("-DN=1",)),
        here.replace(stoppable=True),
    ):
        assert pack.source_key(other) != pack.source_key(here)


@needs_nvrtc
def test_a_packed_image_is_used_instead_of_a_compilation(pack_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path / "cache"))
    source = Source('extern "C" __global__ void k() { }', kernels=("k",), describe=False)
    packed = make_image(3)
    pack.write_pack(pack_folder / "sm_90.pack", [[(pack.source_key(source), packed)]])
    count = compilers.compile_count()
    assert compilers.compile_source(source, TARGET) == packed
    assert compilers.compile_source(source, ("cuda", 9, 1)) == packed  # the same major number
    assert compilers.compile_count() == count
    assert compilers.compile_source(source, ("cuda", 8, 0)) != packed
    assert compilers.compile_source(source, TARGET, again=True) != packed  # the driver refused it
    assert compilers.compile_source(source, TARGET) != packed  # from the cache
    assert compilers.compile_count() == count + 2


def test_a_pack_of_other_files_is_ignored(pack_folder, monkeypatch):
    source = Source('extern "C" __global__ void k() { }', kernels=("k",), describe=False)
    pack.write_pack(pack_folder / "sm_90.pack", [[(pack.source_key(source), make_image(3))]])
    assert pack.load_image(source, TARGET) is not None
    pack._target_pack.cache_clear()
    monkeypatch.setattr(pack, "digest_of_sources", lambda: bytes(16))
    assert pack.load_image(source, TARGET) is None
    assert pack.load_image(source, ("sim",)) is None
