"""Damaged images and images of other users in the disk cache are compiled again.

Repeats the cases of tests/null/test_cache.py by launching a kernel.
"""

import os
import stat

import numpy as np
import pytest

from numbalite import cuda, errors
from numbalite.compilers import cache, compile_count, image

pytestmark = pytest.mark.usefixtures("disabled_checks")  # compilations are counted
SOURCE = "__global__ void k(int* x) { x[threadIdx.x] = threadIdx.x + 1; }  // a unit of this test: "


def run_cached_kernel(text):
    """Compiles or loads the kernel and runs it; returns the number of compiler runs."""
    before = compile_count()
    kernel = cuda.jit(SOURCE + text)
    x = cuda.to_device(np.zeros(4, "i4"))
    kernel[1, 4](x)
    assert x.copy_to_host().tolist() == [1, 2, 3, 4]
    return compile_count() - before


def cache_entry(folder):
    (path,) = folder.glob("*.image")
    return path


DAMAGES = [
    lambda raw: raw[:-1], lambda raw: raw[: len(raw) // 2], lambda raw: b"", lambda raw: raw + b"x",
    lambda raw: raw[:500] + bytes([raw[500] ^ 1]) + raw[501:], lambda raw: bytes(len(raw)), lambda raw: raw[::-1],
]  # fmt: skip


def test_damaged_cache_files_are_compiled_again(own_cache):
    assert run_cached_kernel("damaged") == 1 and run_cached_kernel("damaged") == 0
    for damage in DAMAGES:
        path = cache_entry(own_cache)
        good = path.read_bytes()
        path.write_bytes(damage(good))
        assert run_cached_kernel("damaged") == 1 and run_cached_kernel("damaged") == 0
        assert stat.S_IMODE(os.stat(cache_entry(own_cache)).st_mode) == 0o600


def test_valid_files_with_a_foreign_image_are_replaced(own_cache):
    """The image has the right key and checksum, as if another version or a copied folder had left
    it."""
    assert run_cached_kernel("foreign") == 1
    key = bytes.fromhex(cache_entry(own_cache).name.partition(".")[0])
    kept = cache.load_image(key)
    for data in (b"", b"no image at all", b"\x7fELF" + bytes(200), b"NLSIMG01" + bytes(64)):
        assert cache.store_image(key, kept.replace(data=data))
        assert run_cached_kernel("foreign") == 1 and run_cached_kernel("foreign") == 0
        assert cache.load_image(key).data != data


def test_pipe_in_place_of_a_cache_file_is_replaced(own_cache):
    assert run_cached_kernel("pipe") == 1
    path = cache_entry(own_cache)
    path.unlink()
    os.mkfifo(path)
    assert run_cached_kernel("pipe") == 1 and run_cached_kernel("pipe") == 0


def test_an_invalid_image_is_reported_with_its_origin(own_cache, monkeypatch):
    monkeypatch.setattr(image.Image, "data", property(lambda self: b"no image at all"))
    with pytest.raises((ValueError, errors.CudaAPIError), match="no image") as caught:
        cuda.jit(SOURCE + "nothing")[1, 1](cuda.to_device(np.zeros(4, "i4")))
    assert str(cache_entry(own_cache)) in str(caught.value) and "k" in str(caught.value)


def test_cache_files_writable_by_others_are_ignored(own_cache):
    """Files of any origin are rejected; other users have no access to the directory itself."""
    assert run_cached_kernel("open") == 1
    for mode in (0o666, 0o620, 0o602):
        cache_entry(own_cache).chmod(mode)
        assert run_cached_kernel("open") == 1 and run_cached_kernel("open") == 0
        assert stat.S_IMODE(os.stat(cache_entry(own_cache)).st_mode) == 0o600


def test_cache_files_of_other_users_are_ignored(own_cache, monkeypatch):
    assert run_cached_kernel("others") == 1
    path = cache_entry(own_cache)
    key = bytes.fromhex(path.name.partition(".")[0])
    if os.geteuid() == 0:  # give it to another user
        os.chown(path, 12345, -1)
        assert cache.load_image(key) is None
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        assert cache.load_image(key) is None


def test_link_to_a_directory_writable_by_others_is_rejected(tmp_path, monkeypatch):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open")
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path / "link"))
    with pytest.warns(errors.CacheWarning, match="others may write to"):
        assert cache.usable_directory() is None
    assert run_cached_kernel("kept nowhere") == 1 and run_cached_kernel("kept nowhere") == 1
