"""Large headers are precompiled once in a process; this changes only the time, not the code or the
messages."""

import ctypes
import os
import threading

import pytest
from kit.needs import NO_NVRTC

from numbalite import errors
from numbalite.compilers import Source, headers, nvrtc, precompiled, toolkit

if not toolkit.libraries():
    pytest.skip(NO_NVRTC, allow_module_level=True)
if nvrtc.open_library()[1] < precompiled.SINCE:
    pytest.skip("this NVRTC cannot precompile headers", allow_module_level=True)

DIRECTORIES = toolkit.include_directories(nvrtc.open_library()[0].path)
if not any(os.path.exists(os.path.join(folder, "mma.h")) for folder in DIRECTORIES):
    pytest.skip("the toolkit's headers are not installed", allow_module_level=True)

HEAD = '#include "numbalite.cuh"\nusing namespace numbalite;\n#line 3 "lesson.py"\n'
HEAVY = "#include <mma.h>\n"  # the header that compiles fastest of the large headers
GPU = 9, 0


@pytest.fixture(autouse=True)
def clear_precompiled_headers(own_cache, monkeypatch):
    monkeypatch.setattr(precompiled, "_kept", {})


def source_unit(number=1, start=HEAVY, **fields):
    text = f"{{ int unused; for (int i = 0; i < x.size(); ++i) x[i] *= {number}; }}\n"
    source = HEAD + start + "__global__ void k(array<float> x) " + text
    return Source(**{"text": source, "kernels": ("k",), **fields})


def compile_without_preamble(one):
    """Compiles the source without precompiled headers."""
    since, precompiled.SINCE = precompiled.SINCE, (99, 0)
    try:
        return nvrtc.compile(one, GPU)
    finally:
        precompiled.SINCE = since


def is_used():
    kept = list(precompiled._kept.values())
    return len(kept) == 1 and kept[0].works and kept[0].file is not None


def preamble_of_text(text, **fields):
    return precompiled.heavy_include_lines(Source(text=text, **fields), text, DIRECTORIES)


def test_precompiled_headers_do_not_change_code_or_messages():
    made, used = nvrtc.compile(source_unit(), GPU), nvrtc.compile(source_unit(), GPU)
    assert is_used()
    assert made == used == compile_without_preamble(source_unit())
    assert "unused" in used.log and "precompiled" not in used.log.lower()
    other = source_unit(2, lineinfo=True, options=("-DMORE=1",))
    assert nvrtc.compile(other, GPU) == compile_without_preamble(other)
    assert len(precompiled._kept) == 2


def test_errors_are_the_same_with_precompiled_headers():
    for start in (HEAVY + "int f() { return oops; }\n", HEAVY + "#include <no_such_file.h>\n"):
        wrong = source_unit(start=start)
        texts = []
        for compile in (nvrtc.compile, nvrtc.compile, lambda u, _: compile_without_preamble(u)):
            with pytest.raises(errors.CompileError) as caught:
                compile(wrong, GPU)
            texts.append(str(caught.value))
        assert texts[0] == texts[1] == texts[2]
    nvrtc.compile(source_unit(), GPU)
    assert is_used()


def test_preamble_contains_leading_includes(tmp_path):
    own = '#include "numbalite.cuh"\n#include "numbalite/warp.cuh"\nusing namespace numbalite;\n'
    start = "#include <numbalite.cuh>\n#include <numbalite/describe.cuh>\n"
    assert preamble_of_text(own) == start and preamble_of_text("__global__ void k() {}") == ""
    assert preamble_of_text(own + "#include <cuda_fp16.h>\n#include <math.h>\n") == start
    heavy = (
        own + '/* a\n * b */\n#line 7 "x.py"\n// c\n#include <math.h> // d\n#  include "mma.h"\n'
    )
    assert preamble_of_text(heavy) == start + "#include <math.h>\n#include <mma.h>\n"
    assert preamble_of_text("#include <complex>\n") == start + "#include <complex>\n"
    # A header after other code is not precompiled, because the code may change its meaning.
    for before in ("#define X 1\n", "#if 1\n", "int x;\n", "#include MACRO\n", "#pragma pack(1)\n"):
        assert preamble_of_text(before + HEAVY) == ""
    # Tests a user header, and a user header that hides a toolkit header.
    folder = f"-I{tmp_path}"
    (tmp_path / "mine.h").write_text("")
    assert preamble_of_text("#include <mine.h>\n" + HEAVY, options=(folder,)) == ""
    (tmp_path / "mma.h").write_text("")
    assert preamble_of_text(HEAVY, options=(folder,)) == ""
    assert preamble_of_text('#include "mma.h"\n', name=str(tmp_path / "kernel.cu")) == ""
    assert preamble_of_text(HEAVY, headers=(("mma.h", ""),)) == ""
    # Reads the names that numbalite's large headers define from their text.
    assert precompiled._is_heavy_header("complex") and not precompiled._is_heavy_header(
        "numbalite/half.cuh"
    )
    assert set(headers.memory_headers()) >= {"complex", "numbalite/half.cuh"}


def test_main_header_is_precompiled_at_the_third_use():
    ones = [source_unit(n, "") for n in range(4)]
    images = []
    for n, one in enumerate(ones):
        images.append(nvrtc.compile(one, GPU))
        assert is_used() == (n >= 2)
    assert images == [compile_without_preamble(one) for one in ones]
    wrong = source_unit(1, "int f() { return oops; }\n")
    for compile in (nvrtc.compile, lambda one, _: compile_without_preamble(one)):
        with pytest.raises(errors.CompileError, match='"oops" is undefined') as caught:
            compile(wrong, GPU)
        assert str(caught.value).startswith("lesson.py(3): error")


def test_precompiled_headers_leave_no_files(tmp_path):
    nvrtc.compile(source_unit(), GPU)
    assert is_used() and os.listdir(tmp_path / "cache") == []
    file = next(iter(precompiled._kept.values())).file
    assert os.fstat(file.number).st_nlink == 0
    assert not os.get_inheritable(file.number)


@pytest.mark.parametrize("contents", [b"", b"no header at all" * 100], ids=["empty", "other"])
def test_damaged_precompiled_header_is_ignored(tmp_path, contents):
    """If the precompiled header is damaged although no other user has access to it, the source is
    compiled without it."""
    nvrtc.compile(source_unit(), GPU)
    (kept,) = precompiled._kept.values()
    (tmp_path / "other").write_bytes(contents)
    kept.file = precompiled.SharedFile(tmp_path / "other")
    assert nvrtc.compile(source_unit(2), GPU) == compile_without_preamble(source_unit(2))
    assert not kept.works
    assert nvrtc.compile(source_unit(3), GPU) == compile_without_preamble(source_unit(3))


def test_another_preamble_is_not_used(monkeypatch):
    nvrtc.compile(source_unit(), GPU)
    (kept,) = precompiled._kept.values()
    monkeypatch.setattr(precompiled, "_find_preamble", lambda key: kept)
    other = source_unit(2, "#include <math.h>\n" + HEAVY)
    assert nvrtc.compile(other, GPU) == compile_without_preamble(other)
    assert not kept.works


def test_changed_nvrtc_heap_size_disables_precompiled_headers():
    nvrtc.compile(source_unit(), GPU)
    library = ctypes.CDLL(nvrtc.open_library()[0].path)
    size = ctypes.c_size_t()
    assert library.nvrtcGetPCHHeapSize(ctypes.byref(size)) == 0
    try:
        assert library.nvrtcSetPCHHeapSize(ctypes.c_size_t(1 << 20)) == 0
        assert nvrtc.compile(source_unit(2), GPU) == compile_without_preamble(source_unit(2))
        precompiled._kept.clear()
        assert nvrtc.compile(source_unit(3), GPU) == compile_without_preamble(
            source_unit(3)
        )  # too small for a new one
    finally:
        assert library.nvrtcSetPCHHeapSize(size) == 0
    assert not is_used()


def test_missing_folder_disables_precompiled_headers(tmp_path, monkeypatch):
    monkeypatch.setattr(precompiled.cache, "usable_directory", lambda: str(tmp_path / "none"))
    assert nvrtc.compile(source_unit(), GPU) == compile_without_preamble(source_unit())
    assert not is_used()


def test_nvrtc_failure_disables_precompiled_headers():
    def raise_nvrtc_error(text, options):
        raise errors.CompileError("nvrtcCompileProgram failed with NVRTC_ERROR_INTERNAL_ERROR (11)")

    one = source_unit()
    for _ in range(2):
        assert (
            precompiled.compile_precompiled(raise_nvrtc_error, one, one.text, [], DIRECTORIES)
            is None
        )
    assert not is_used()


def test_number_of_precompiled_headers_is_limited(monkeypatch):
    monkeypatch.setattr(precompiled, "_MOST", 1)
    first = nvrtc.compile(source_unit(), GPU)
    nvrtc.compile(source_unit(fastmath=True), GPU)
    assert is_used()
    assert nvrtc.compile(source_unit(), GPU) == first


def test_precompiled_headers_work_in_threads_and_forked_children():
    found, problems = {}, []

    def compile_in_thread(number):
        try:
            found[number] = nvrtc.compile(source_unit(number), GPU)
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=compile_in_thread, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and is_used()
    assert found == {n: compile_without_preamble(source_unit(n)) for n in range(6)}
    child = os.fork()
    if child == 0:
        good = nvrtc.compile(source_unit(4), GPU) == found[4] and is_used()
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
