"""Tests the disk cache: its entries, the files that it rejects, and eviction."""

import os
import stat
import subprocess
import sys
import time

import pytest

from numbalite import errors
from numbalite.compilers import cache, disassembler, folders
from numbalite.compilers import image as images

IMAGE = images.Image(
    kind="cubin",
    data=bytes(range(256)) * 8,
    arch="sm_90",
    lowered={"k<float>": "_Z1kIfEvT_"},
    descriptions={"k<float>": "text"},
    log="a warning",
    ptx=b".version 9.0",
    source="__global__ void k();  // \N{GREEK SMALL LETTER LAMDA}",
)


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    """Gives the test a cache folder of its own, and returns the folder."""
    path = tmp_path / "cache"
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(path))
    monkeypatch.delenv("NUMBALITE_DISABLE_CACHE", raising=False)
    return path


def cache_key(number):
    return cache.hash_values("test", number)


def cache_file_of(folder, number):
    return folder / (cache_key(number).hex() + ".image")


def test_stored_image_is_loaded(cache_folder):
    assert cache.load_image(cache_key(1)) is None
    assert cache.store_image(cache_key(1), IMAGE)
    assert cache.load_image(cache_key(1)) == IMAGE
    assert cache.load_image(cache_key(2)) is None
    assert cache.cache_usage() == (1, cache_file_of(cache_folder, 1).stat().st_size)


def test_cache_files_are_private(cache_folder):
    cache.store_image(cache_key(1), IMAGE)
    assert stat.S_IMODE(cache_folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(cache_file_of(cache_folder, 1).stat().st_mode) == 0o600
    assert os.listdir(cache_folder) == [cache_file_of(cache_folder, 1).name], (
        "no temporary file is left"
    )


@pytest.mark.parametrize("length", [0, 1, 15, 16, 31, 47, 48, 49, 200, -1])
def test_truncated_files_are_removed(cache_folder, length):
    cache.store_image(cache_key(1), IMAGE)
    path = cache_file_of(cache_folder, 1)
    path.write_bytes(path.read_bytes()[:length])
    assert cache.load_image(cache_key(1)) is None
    assert not path.exists(), "a bad file goes"


def test_every_flipped_byte_is_detected(cache_folder):
    small = IMAGE.replace(data=b"xy", source="", log="")
    cache.store_image(cache_key(1), small)
    path = cache_file_of(cache_folder, 1)
    raw = path.read_bytes()
    for at in range(len(raw)):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        assert cache.load_image(cache_key(1)) is None


def test_foreign_files_are_not_loaded(cache_folder):
    cache.store_image(cache_key(1), IMAGE)
    cache_file_of(cache_folder, 2).write_bytes(cache_file_of(cache_folder, 1).read_bytes())
    assert cache.load_image(cache_key(2)) is None, "the file of another key"
    cache_file_of(cache_folder, 3).write_bytes(b"#!/bin/sh\n")
    assert cache.load_image(cache_key(3)) is None
    cache_file_of(cache_folder, 4).mkdir()
    assert cache.load_image(cache_key(4)) is None
    cache_file_of(cache_folder, 5).symlink_to(cache_file_of(cache_folder, 1))
    assert cache.load_image(cache_key(5)) is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_directory_writable_by_others_is_rejected(cache_folder, mode):
    cache_folder.mkdir()
    cache_folder.chmod(mode)
    with pytest.warns(errors.CacheWarning, match="others may write"):
        assert not cache.store_image(cache_key(1), IMAGE)
    assert not cache.store_image(cache_key(1), IMAGE), "and only one warning"
    assert cache.load_image(cache_key(1)) is None and os.listdir(cache_folder) == []


def test_file_in_place_of_the_cache_folder_warns(cache_folder):
    cache_folder.write_text("")
    with pytest.warns(errors.CacheWarning):
        assert cache.usable_directory() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_directory_of_another_user_warns(cache_folder):
    cache_folder.mkdir(mode=0o700)
    os.chown(cache_folder, 12345, 12345)
    with pytest.warns(errors.CacheWarning, match="another user"):
        assert cache.usable_directory() is None


def test_disabled_cache_stores_nothing(cache_folder, monkeypatch):
    monkeypatch.setenv("NUMBALITE_DISABLE_CACHE", "1")
    assert cache.usable_directory() is None and not cache.store_image(cache_key(1), IMAGE)
    assert cache.load_image(cache_key(1)) is None and not cache_folder.exists()
    assert cache.load_image(None) is None and not cache.store_image(None, IMAGE)


def test_an_unwritable_folder_disables_the_cache(monkeypatch):
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", "/proc/nowhere/cache")
    with pytest.warns(errors.CacheWarning):
        assert not cache.store_image(cache_key(1), IMAGE)


def test_the_least_recently_used_entry_is_removed(cache_folder):
    for number in range(10):
        cache.store_image(cache_key(number), IMAGE)
        os.utime(cache_file_of(cache_folder, number), (1000 + number,) * 2)
    size = cache_file_of(cache_folder, 0).stat().st_size
    os.utime(cache_file_of(cache_folder, 0))  # used just now
    removed = cache.trim_cache(5 * size)
    left = {n for n in range(10) if cache_file_of(cache_folder, n).exists()}
    assert removed == 6 and left == {0, 7, 8, 9}, "the oldest, down to four fifths"
    assert cache.trim_cache(5 * size) == 0


def test_cache_hit_updates_the_last_use(cache_folder):
    cache.store_image(cache_key(1), IMAGE)
    path = cache_file_of(cache_folder, 1)
    os.utime(path, (1000, 1000))
    cache.load_image(cache_key(1))
    assert time.time() - path.stat().st_mtime < 60


def test_cache_size_is_bounded(cache_folder, monkeypatch):
    cache.store_image(cache_key("size"), IMAGE)
    size = cache_file_of(cache_folder, "size").stat().st_size
    monkeypatch.setenv("NUMBALITE_CACHE_SIZE", str(40 * size))
    for number in range(400):
        cache.store_image(cache_key(number), IMAGE)
    count, total = cache.cache_usage()
    assert 0 < total < 3 * 40 * size and count < 120
    assert not cache.store_image(cache_key("big"), IMAGE.replace(data=bytes(50 * size)))


def test_abandoned_temporary_files_are_removed(cache_folder):
    cache.store_image(cache_key(1), IMAGE)
    half = cache_file_of(cache_folder, 1).read_bytes()[:100]
    old, empty, new = (
        cache_folder / f"{cache_key(1).hex()}.image.{n}-0123456789ab.tmp" for n in (1, 2, 3)
    )
    for path in (old, empty, new):
        path.write_bytes(half if path != empty else b"")
    os.utime(old, (1000, 1000))
    os.utime(empty, (1000, 1000))
    cache.trim_cache(1 << 30)
    assert not old.exists() and not empty.exists() and new.exists()


def make_precompiled_prelude(folder, name):
    path = folder / f"prelude-{name}"
    path.mkdir(mode=0o700)
    folders.mark_folder(path)
    (path / "prelude.pch").write_bytes(bytes(1000))
    return path


def test_cache_size_includes_precompiled_headers(cache_folder):
    cache.store_image(cache_key(1), IMAGE)
    count, size = cache.cache_usage()
    old, new = (
        make_precompiled_prelude(cache_folder, "old"),
        make_precompiled_prelude(cache_folder, "new"),
    )
    marks = sum((path / "CACHEDIR.TAG").stat().st_size for path in (old, new))
    assert cache.cache_usage() == (count, size + 2000 + marks)
    os.utime(old, (1000, 1000))
    cache.trim_cache(1 << 30)
    assert not old.exists() and new.exists()


def test_clear_removes_only_cache_files(cache_folder):
    cache.store_image(cache_key(1), IMAGE)
    cache.store_image(cache_key(2), IMAGE)
    make_precompiled_prelude(cache_folder, "of_some_compiler")
    (cache_folder / "notes.txt").write_text("not ours")
    assert cache.clear_cache() == 2
    assert os.listdir(cache_folder) == ["notes.txt"]


def test_foreign_files_are_kept(cache_folder):
    """The cache keeps foreign files of any name and age."""
    cache.store_image(cache_key(1), IMAGE)
    image = cache_file_of(cache_folder, 1).read_bytes()
    theirs = {
        "holiday.image": image,
        f"{'a' * 32}.image": b"not what we write",
        f"{'b' * 32}.image.1-0123456789ab.tmp": b"not what we write",
        f"{'c' * 32}.image.old.tmp": image,
        "prelude-in-e-minor/score.txt": b"music",
        "prelude-of_others/CACHEDIR.TAG": b"Signature: 8a477f597d28d172789f06886806bc55\n",
        "texts-for-monday/notes.txt": b"words",
        "numbalite-notes/notes.txt": b"words",
    }
    for name, contents in theirs.items():
        path = cache_folder / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_bytes(contents)
        for each in (path, path.parent):
            if each != cache_folder:
                os.utime(each, (1000, 1000))
    (cache_folder / f"{'d' * 32}.image").mkdir()
    (cache_folder / "linked").write_bytes(image)
    (cache_folder / f"{'e' * 32}.image").symlink_to(cache_folder / "linked")
    cache.trim_cache(0)
    assert cache.clear_cache() == 0 and not cache_file_of(cache_folder, 1).exists(), (
        "trimmed already"
    )
    found = [p for p in cache_folder.rglob("*") if p.is_file() and not p.is_symlink()]
    assert {str(p.relative_to(cache_folder)): p.read_bytes() for p in found} == {
        **theirs,
        "linked": image,
    }


ABANDONED = """
import os, sys
from numbalite.compilers import folders
working = folders.WorkingFolder(sys.argv[1])
print(working.name, flush=True)
if sys.argv[2] == "die":
    os.kill(os.getpid(), 9)
sys.stdin.read()
"""


def test_working_folders_of_dead_processes_are_removed(tmp_path):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(cache.__file__))))
    made = [
        subprocess.Popen([sys.executable, "-c", ABANDONED, str(tmp_path), how], text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root})
        for how in ("die", "live")
    ]  # fmt: skip
    dead, live = (process.stdout.readline().strip() for process in made)
    made[0].communicate()
    (tmp_path / "numbalite-notes").mkdir()
    # The first file may have been removed when the second process wrote its own
    assert os.path.isdir(live)
    folders.remove_abandoned(str(tmp_path))
    assert not os.path.exists(dead) and os.path.isdir(live)
    made[1].communicate()
    assert os.listdir(tmp_path) == ["numbalite-notes"]


WRITER = """
import sys
from numbalite.compilers import cache
from numbalite.compilers.image import Image
who = int(sys.argv[1])
bad = 0
for turn in range(150):
    for number in range(4):
        key = cache.hash_values("shared", number)
        image = Image("cubin", bytes([number]) * 5000, "sm_90", {}, {})
        found = cache.load_image(key)
        bad += found is not None and found != image
        cache.store_image(key, image)
    if turn % 50 == who:
        cache.clear_cache()
print(bad)
"""


def test_concurrent_processes_share_the_cache(cache_folder):
    import numbalite

    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(cache.__file__))))
    assert numbalite is not None
    environment = {**os.environ, "PYTHONPATH": root, "PYTHONWARNINGS": "error"}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(n)], stdout=subprocess.PIPE, text=True,
                         env=environment)
        for n in range(3)
    ]  # fmt: skip
    for writer in writers:
        out, _ = writer.communicate(timeout=60)
        assert writer.returncode == 0 and out.strip() == "0"
    assert not [name for name in os.listdir(cache_folder) if name.endswith(".tmp")]


def test_image_bytes_are_exact():
    raw = IMAGE.to_bytes()
    assert images.Image.from_bytes(raw) == IMAGE
    for bad in (raw + b"x", raw[:-1], b"", raw[8:]):
        with pytest.raises(ValueError):
            images.Image.from_bytes(bad)


def test_disassembled_code_is_stored_for_each_tool_and_image(tmp_path):
    calls, tool = tmp_path / "calls", tmp_path / "tool"
    tool.write_text(f'#!/bin/sh\necho call >> {calls}\necho "code of"\ncat "$2"\n')
    tool.chmod(0o700)
    for _ in range(2):
        assert disassembler.run_tool(str(tool), ["-c"], b"an image") == "code of\nan image"
    assert disassembler.run_tool(str(tool), ["-c"], b"another") == "code of\nanother"
    assert calls.read_text() == "call\n" * 2
    tool.write_text(tool.read_text().replace("code of", "the code of"))
    assert disassembler.run_tool(str(tool), ["-c"], b"an image") == "the code of\nan image"
