"""Tests the search for NVRTC and headers, a source's includes, and the options for its
compilation."""

import os
import pathlib
import re
import shutil
import sys

import pytest

from numbalite import compilers, errors
from numbalite.compilers import Source, bundled, files, headers, linking, nvrtc, toolkit
from numbalite.compilers import _cache_key as unit_key
from numbalite.cxx.slip import LineRange, Slip


@pytest.fixture(autouse=True)
def machine_without_toolkit(monkeypatch, tmp_path):
    """Simulates a machine without a toolkit; tests install a fake toolkit."""
    for name in ("CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX", "LD_LIBRARY_PATH", "NUMBALITE_NVRTC",
                 "NUMBALITE_INCLUDE_PATH"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    monkeypatch.setattr(toolkit, "SYSTEM_TOOLKITS", ())
    monkeypatch.setattr(toolkit, "SYSTEM_LIBRARIES", ())
    monkeypatch.setattr(toolkit, "_libraries_by_pathfinder", list)
    monkeypatch.setattr(toolkit, "_include_by_pathfinder", lambda part: None)
    monkeypatch.setattr(toolkit, "_driver_cuda_major", lambda: None)
    monkeypatch.setattr(toolkit, "opened", None)
    monkeypatch.setattr(toolkit, "_chosen", None)
    monkeypatch.setattr(toolkit, "_directories", {})


def write_file(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


# ---- NVRTC


def test_a_missing_header_is_reported_with_its_package():
    assert toolkit.libraries() == []
    with pytest.raises(errors.CudaSupportError, match=r'pip install "cuda-toolkit\[nvrtc,'):
        toolkit.nvrtc_library()


def test_nvrtc_of_pip_packages_is_preferred(tmp_path, monkeypatch):
    new = write_file(tmp_path / "site/nvidia/cu13/lib/libnvrtc.so.13")
    old = write_file(tmp_path / "site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    installed = write_file(tmp_path / "toolkit/lib64/libnvrtc.so.12")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    assert [one.path for one in toolkit.libraries()] == [new, old, installed]
    assert toolkit.nvrtc_library().path == new


def test_nvrtc_version_depends_on_the_driver(tmp_path, monkeypatch):
    new = write_file(tmp_path / "site/nvidia/cu13/lib/libnvrtc.so.13")
    old = write_file(tmp_path / "site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    for driver, expected in ((12, old), (13, new), (14, new), (11, new)):
        monkeypatch.setattr(toolkit, "_driver_cuda_major", lambda driver=driver: driver)
        assert toolkit.nvrtc_library().path == expected


@pytest.mark.parametrize("variable", ["CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX"])
@pytest.mark.parametrize("folder", ["lib64", "lib", "targets/x86_64-linux/lib"])
def test_nvrtc_is_found_in_toolkit_folders(tmp_path, monkeypatch, variable, folder):
    path = write_file(tmp_path / "toolkit" / folder / "libnvrtc.so.13")
    monkeypatch.setenv(variable, str(tmp_path / "toolkit"))
    library = toolkit.nvrtc_library()
    assert (library.major, library.path) == (13, path)


def test_same_nvrtc_library_is_listed_once(tmp_path, monkeypatch):
    write_file(tmp_path / "toolkit/lib64/libnvrtc.so.13")
    (tmp_path / "toolkit/lib").symlink_to("lib64")
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "toolkit"))
    assert len(toolkit.libraries()) == 1


def test_old_nvrtc_raises(tmp_path, monkeypatch):
    write_file(tmp_path / "libnvrtc.so.11")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    with pytest.raises(errors.CudaSupportError, match="NVRTC 11 .* too old, numbalite needs 12"):
        toolkit.nvrtc_library()


def test_environment_variable_selects_nvrtc(tmp_path, monkeypatch):
    path = write_file(tmp_path / "libnvrtc.so.12.4.99")
    monkeypatch.setenv("NUMBALITE_NVRTC", path)
    assert (toolkit.nvrtc_library().major, toolkit.nvrtc_library().path) == (12, path)
    monkeypatch.setenv("NUMBALITE_NVRTC", path + "x")
    with pytest.raises(errors.CudaSupportError, match="NUMBALITE_NVRTC"):
        toolkit.nvrtc_library()


def test_nvrtc_fingerprint_changes_with_the_file(tmp_path, monkeypatch):
    path = write_file(tmp_path / "libnvrtc.so.13")
    monkeypatch.setenv("NUMBALITE_NVRTC", path)
    first = toolkit.libraries_fingerprint()
    write_file(tmp_path / "libnvrtc.so.13", "updated")
    assert toolkit.libraries_fingerprint() != first


# ---- include directories


def test_headers_of_pip_packages_are_found(tmp_path):
    library = write_file(tmp_path / "site/nvidia/cu13/lib/libnvrtc.so.13")
    root = tmp_path / "site/nvidia/cu13/include"
    write_file(root / "cuda_fp16.h")
    write_file(root / "crt/host_defines.h")
    write_file(root / "cccl/cuda/std/version")
    assert toolkit.include_directories(library) == (str(root), str(root / "cccl"))
    assert toolkit.missing_toolkit_parts(toolkit.include_directories(library)) == [
        ("curand", "nvidia-curand")
    ]


def test_headers_of_cuda_12_pip_packages_are_found(tmp_path):
    root = tmp_path / "site/nvidia"
    library = write_file(root / "cuda_nvrtc/lib/libnvrtc.so.12")
    write_file(root / "cuda_nvrtc/include/nvrtc.h")
    write_file(root / "cuda_runtime/include/cuda_fp16.h")
    write_file(root / "cuda_runtime/include/crt/host_defines.h")
    write_file(root / "cuda_cccl/include/cuda/std/version")
    assert toolkit.include_directories(library) == (
        str(root / "cuda_runtime/include"),
        str(root / "cuda_cccl/include"),
    )


@pytest.mark.parametrize("version, found", [("12.9", 0), ("12.4", 1), ("12.3", 1), (None, 1)])
def test_headers_of_a_newer_toolkit_are_not_added(tmp_path, monkeypatch, version, found):
    """An older NVRTC does not use the CCCL of a newer toolkit, whose headers it cannot compile."""
    root, other = tmp_path / "site/nvidia", tmp_path / "toolkit/include"
    library = write_file(root / "cuda_nvrtc/lib/libnvrtc.so.12")
    write_file(root / "cuda_runtime/include/cuda_fp16.h")
    write_file(root / "cuda_runtime/include/cuda_runtime_api.h", "#define CUDART_VERSION  12040\n")
    write_file(other / "cuda/std/version")
    if version:
        major, minor = version.split(".")
        text = f"#define CUDART_VERSION  {int(major) * 1000 + int(minor) * 10}\n"
        write_file(other / "cuda_runtime_api.h", text)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    directories = toolkit.include_directories(library)
    assert directories == (str(root / "cuda_runtime/include"), str(other))[: 1 + found]


def test_headers_of_cccl_are_upgraded():
    assert toolkit.pip_install("nvidia-curand") == "pip install nvidia-curand"
    wanted = toolkit.packages_for("cuda/std/numeric", 12)
    assert toolkit.pip_install(wanted) == "pip install -U nvidia-cuda-cccl-cu12"


def test_missing_cuda_12_headers_name_their_package(tmp_path):
    """A message recommends only packages whose folders are searched."""
    root = tmp_path / "site/nvidia"
    library = write_file(root / "cuda_nvrtc/lib/libnvrtc.so.12")
    write_file(root / "cuda_runtime/include/cuda_fp16.h")
    found = toolkit.include_directories(library)
    assert dict(toolkit.missing_toolkit_parts(found, 12)) == {
        "crt": "nvidia-cuda-nvcc-cu12",
        "cccl": "nvidia-cuda-cccl-cu12",
        "curand": "nvidia-curand-cu12",
    }
    write_file(root / "cuda_nvcc/include/crt/host_defines.h")
    write_file(root / "cuda_cccl/include/cuda/std/version")
    write_file(root / "curand/include/curand_kernel.h")
    toolkit._directories.clear()
    found = toolkit.include_directories(library)
    assert toolkit.missing_toolkit_parts(found, 12) == []


@pytest.fixture
def bundled_headers(tmp_path, monkeypatch):
    """Replaces NVRTC by one with two bundled headers; returns a list of the folders that are written."""
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path / "cache"))
    written = []

    def fill(working, path):
        write_file(pathlib.Path(working) / "cuda_fp16.h")
        write_file(pathlib.Path(working) / "cccl/cuda/std/version")
        written.append(working)
        return True

    monkeypatch.setattr(bundled, "_write_headers", fill)
    return written


def make_nvrtc_of_version(folder, version):
    write_file(folder / f"libnvrtc-builtins.so.{version}")
    return write_file(folder / f"libnvrtc.so.{version.partition('.')[0]}")


@pytest.mark.parametrize("version, expected", [("13.3", 1), ("14.0", 1), ("13.2", 0), ("12.9", 0)])
def test_bundled_headers_precede_other_toolkits(
    tmp_path, monkeypatch, bundled_headers, version, expected
):
    library = make_nvrtc_of_version(tmp_path / "site/nvidia/cu13/lib", version)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    other = tmp_path / "toolkit/include"
    for name in ("cuda_fp16.h", "crt/host_defines.h", "cuda/std/version"):
        write_file(other / name)
    found = toolkit.include_directories(library)
    assert len(bundled_headers) == expected
    assert found[-1] == str(other) and len(found) == (3 if expected else 1)
    if expected:
        assert os.path.isfile(f"{found[0]}/cuda_fp16.h") and found[1] == f"{found[0]}/cccl"


def test_bundled_headers_supply_only_missing_parts(tmp_path, bundled_headers):
    library = make_nvrtc_of_version(tmp_path / "site/nvidia/cu13/lib", "13.5")
    root = tmp_path / "site/nvidia/cu13/include"
    write_file(root / "cuda_fp16.h")
    write_file(root / "crt/host_defines.h")
    first, second = toolkit.include_directories(library)
    assert first == str(root) and second.endswith("/cccl") and len(bundled_headers) == 1
    write_file(root / "cccl/cuda/std/version")
    toolkit._directories.clear()
    assert toolkit.include_directories(library) == (str(root), str(root / "cccl"))


def test_bundled_headers_are_written_once_and_again_after_their_removal(tmp_path, bundled_headers):
    library = make_nvrtc_of_version(tmp_path / "site/nvidia/cu13/lib", "13.5")
    first = toolkit.include_directories(library)
    toolkit._directories.clear()
    assert toolkit.include_directories(library) == first and len(bundled_headers) == 1
    shutil.rmtree(first[0])
    assert toolkit.include_directories(library) == first and len(bundled_headers) == 2
    assert toolkit.include_directories() == first


def test_without_a_cache_there_are_no_bundled_headers(tmp_path, monkeypatch, bundled_headers):
    library = make_nvrtc_of_version(tmp_path / "site/nvidia/cu13/lib", "13.5")
    monkeypatch.setenv("NUMBALITE_DISABLE_CACHE", "1")
    assert toolkit.include_directories(library) == () and not bundled_headers


def test_mathdx_is_found_beside_whatever_toolkit_there_is(tmp_path):
    library = write_file(tmp_path / "site/nvidia/cu13/lib/libnvrtc.so.13")
    write_file(tmp_path / "site/nvidia/cu13/include/cuda_fp16.h")
    root = tmp_path / "site/nvidia/mathdx"
    write_file(root / "include/cufftdx.hpp")
    write_file(root / "external/cutlass/include/cutlass/cutlass.h")
    assert toolkit.include_directories(library)[-2:] == (
        str(root / "include"),
        str(root / "external/cutlass/include"),
    )


def test_toolkit_version_of_headers_is_found(tmp_path):
    assert toolkit.headers_version([str(tmp_path)]) is None
    write_file(tmp_path / "cuda_runtime_api.h", "/* */\n#define CUDART_VERSION  12040\n")
    assert toolkit.headers_version([str(tmp_path / "none"), str(tmp_path)]) == (12, 4)


def test_toolkit_supplies_headers_missing_in_packages(tmp_path, monkeypatch):
    library = write_file(tmp_path / "site/nvidia/cu13/lib/libnvrtc.so.13")
    write_file(tmp_path / "site/nvidia/cu13/include/cuda_fp16.h")
    write_file(tmp_path / "toolkit/include/cccl/cuda/std/version")
    write_file(tmp_path / "toolkit/include/cuda_fp16.h")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    assert toolkit.include_directories(library) == (
        str(tmp_path / "site/nvidia/cu13/include"),
        str(tmp_path / "toolkit/include/cccl"),
    )


def test_recommended_packages_match_the_extras(checkout_root):
    """Errors name only packages that exist, even if numbalite runs from a checkout."""
    from numbalite.compilers import host

    text = (checkout_root / "pyproject.toml").read_text()
    c_text = (checkout_root / "cext/driver/nvrtc.c").read_text().replace("\\", "")
    for extra in ("cuda13", "cuda12"):
        (requirement,) = re.findall(rf"^{extra} = \[(.*)\]$", text, re.M)
        assert requirement in toolkit.INSTALL and requirement in c_text
    assert 'zig = ["ziglang' in text and "pip install ziglang," in host.INSTALL


@pytest.mark.parametrize(
    "header, package",
    [
        ("cooperative_groups.h", "nvidia-cuda-cccl"),
        ("cuda/std/complex", "nvidia-cuda-cccl"),
        ("cub/cub.cuh", "nvidia-cuda-cccl"),
        ("curand_kernel.h", "nvidia-curand"),
        ("cuda_fp16.h", "nvidia-cuda-runtime"),
        ("crt/host_defines.h", "nvidia-cuda-crt"),
        ("cufftdx.hpp", "nvidia-mathdx"),
        ("cublasdx.hpp", "nvidia-mathdx"),
        ("mine.h", ""),
    ],
)
def test_missing_header_names_its_package(header, package):
    assert package in toolkit.packages_for(header)
    older = toolkit.packages_for(header, 12).split()
    assert all(p.endswith("-cu12") or p == "nvidia-mathdx" for p in older)


# ---- what a source includes


def test_include_directives_are_parsed():
    text = """#include "a.h"
  #  include <b/c.h> // why
    x = "include"; // include <no>
#include MACRO
#include\t<d.h>"""
    assert headers.included_names(text) == [
        ("a.h", True),
        ("b/c.h", False),
        ("", False),
        ("d.h", False),
    ]


@pytest.mark.parametrize(
    "text, found",
    [
        ('#include /* c */ "x.h"', ("x.h", True)),
        ('# /* two\nlines */ include "x.h" // why', ("x.h", True)),
        ('/*\n*/ #include "x.h"', ("x.h", True)),
        ('#import "x.h"', ("x.h", True)),
        ('#inc\\\nlude \\\r\n "x.h"', ("x.h", True)),
        ("%: include <x.h>\r\n", ("x.h", False)),
        ('??=include "x.h"', ("x.h", True)),
        ("#include <a//x.h>", ("a//x.h", False)),
        ('#if __has_include("x.h") // only asked for', ("x.h", True)),
        ("#if __has_include ( <x.h> )", ("x.h", False)),
        ("int a = 1'000; // don't\n#include \"x.h\"", ("x.h", True)),
        ("#include_next <x.h>", ("", False)),
        ("#if __has_include(MACRO)", ("", False)),
        ('// see #include lines, or\n/*\n#include "x.h"\n*/', None),
        ('const char *s = R"(\n#include "x.h"\n)";', None),
        ("#ifdef __has_include\n#endif", None),
    ],
)
def test_include_directives_of_any_spelling_are_parsed(text, found):
    assert headers.included_names(text) == ([found] if found else [])


def include_closure(source, **fields):
    return headers.include_closure(Source(source, **fields), lambda: ())


def test_include_closure_excludes_library_headers():
    assert (
        include_closure('#include "numbalite.cuh"\n#include <stdint.h>\n#include <cmath>\n') == []
    )


def test_include_closure_contains_the_users_headers(tmp_path):
    write_file(tmp_path / "inc/a.h", '#include "b.h"\n#include <c.h>\n')
    write_file(tmp_path / "inc/b.h", "int b;")
    write_file(tmp_path / "more/c.h", "int c;")
    options = ("-I", str(tmp_path / "inc"), f"--include-path={tmp_path}/more")
    before = include_closure("#include <a.h>", options=options)
    assert [name for name, _ in before] == ["a.h", "b.h", "c.h"]
    write_file(tmp_path / "more/c.h", "long c;")
    assert include_closure("#include <a.h>", options=options) != before


def test_quoted_includes_search_the_source_folder(tmp_path):
    write_file(tmp_path / "mine.h", "int a;")
    name = str(tmp_path / "lesson.py")
    assert include_closure('#include "mine.h"', name=name) == [("mine.h", b"int a;")]
    assert include_closure("#include <mine.h>", name=name) == [("mine.h", "missing")]


def test_headers_in_memory_may_include_files(tmp_path):
    write_file(tmp_path / "b.h", "int b;")
    found = include_closure(
        '#include "a.h"', headers=(("a.h", "#include <b.h>"),), options=(f"-I{tmp_path}",)
    )
    assert found == [("b.h", b"int b;")]


def test_include_closure_contains_toolkit_header_dates(tmp_path):
    write_file(tmp_path / "cuda_fp16.h", "#include <another.h>")
    found = headers.include_closure(Source("#include <cuda_fp16.h>"), lambda: (str(tmp_path),))
    assert len(found) == 1 and found[0][0] == str(tmp_path / "cuda_fp16.h")


def test_include_closure_of_recursive_headers_ends(tmp_path):
    write_file(tmp_path / "a.h", "#include <a.h>\n")
    assert len(include_closure("#include <a.h>", options=(f"-I{tmp_path}",))) == 1


def test_include_closure_contains_has_include_headers(tmp_path):
    source, name = '#if __has_include("mine.h")\n#endif', str(tmp_path / "lesson.py")
    before = include_closure(source, name=name)
    write_file(tmp_path / "mine.h")
    assert include_closure(source, name=name) != before


def test_include_closure_searches_configured_folders(tmp_path, monkeypatch):
    write_file(tmp_path / "a.h", "int a;")
    write_file(tmp_path / "math.h", "int pi;")
    monkeypatch.setenv("NUMBALITE_INCLUDE_PATH", str(tmp_path))
    assert include_closure("#include <a.h>\n#include <math.h>") == [
        ("a.h", b"int a;"),
        ("math.h", b"int pi;"),  # the user's, not numbalite's own
    ]


def test_adjacent_files_precede_headers_in_memory(tmp_path):
    write_file(tmp_path / "inc/a.h", '#include "b.h"')
    write_file(tmp_path / "inc/b.h", "int b;")
    found = include_closure(
        "#include <a.h>", headers=(("b.h", ""),), options=(f"-I{tmp_path}/inc",)
    )
    assert ("b.h", b"int b;") in found


def test_include_closure_ends_for_growing_relative_paths(tmp_path):
    write_file(tmp_path / "inc/a.h", '#include "../inc/b.h"')
    write_file(tmp_path / "inc/b.h", '#include "../inc/a.h"')
    assert len(include_closure("#include <a.h>", options=(f"-I{tmp_path}/inc",))) == 2


@pytest.mark.parametrize("is_cached", [True, False])
def test_include_closure_does_not_read_pipes(tmp_path, monkeypatch, is_cached):
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NUMBALITE_DISABLE_CACHE", str(int(not is_cached)))
    monkeypatch.setenv("NUMBALITE_NVRTC", write_file(tmp_path / "libnvrtc.so.13"))
    monkeypatch.setenv("NUMBALITE_CXX", write_file(tmp_path / "clang++"))
    os.chmod(tmp_path / "clang++", 0o755)
    os.mkfifo(tmp_path / "pipe.h")
    options = (f"-I{tmp_path}",)
    for name, kind in (("pipe.h", "a named pipe"), ("/dev/zero", "a device")):
        for source in (f"#include <{name}>", f'#include MACRO\n#include "{name}"'):
            for target in (("sim",), ("host",), ("cuda", 9, 0)):
                with pytest.raises(errors.CompileError, match=f'"{name}" is {kind}, not a file'):
                    compilers.compile_source(Source(source, options=options), target)


def test_unresolved_includes_are_not_cached():
    assert include_closure("#include MACRO\n") is None
    assert include_closure("", options=("--options-file=x",)) is None


def test_pre_included_headers_are_in_the_closure(tmp_path):
    path = write_file(tmp_path / "a.h", "int a;")
    assert include_closure("", options=(f"--pre-include={path}",)) == [(path, b"int a;")]


# ---- keys


def test_every_source_field_is_in_the_cache_key(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBALITE_NVRTC", write_file(tmp_path / "libnvrtc.so.13"))
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path / "cache"))
    base = Source('#include "numbalite.cuh"\n')
    write_file(tmp_path / "libnvJitLink.so.13")
    changes = {
        "text": base.text + " ", "name": "other.cu", "kernels": ("k",), "variables": ("v",),
        "describe": False, "options": ("-DX",), "std": "c++20", "headers": (("a.h", ""),),
        "fastmath": True, "debug": True, "lineinfo": True, "opt": 1, "max_registers": 9,
        "boundscheck": True, "linked": (linking.LinkedBinary("ptx", "a.ptx", b""),), "is_python": True,
        "users": (LineRange("k.py", 1, 2),), "slips": (Slip("k.py", 1, "unused", "", ""),), "stoppable": True,
        "is_short": True,
    }  # fmt: skip
    assert set(changes) == set(Source._fields)
    keys = {
        unit_key(base.replace(**{field: value}), ("cuda", 9, 0)) for field, value in changes.items()
    }
    keys |= {unit_key(base, ("cuda", 9, 0)), unit_key(base, ("cuda", 8, 0))}
    assert len(keys) == len(changes) + 2
    write_file(tmp_path / "libnvrtc.so.13", "another compiler")
    assert unit_key(base, ("cuda", 9, 0)) not in keys


def test_notebook_cell_numbers_do_not_change_the_cache_key(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBALITE_NVRTC", write_file(tmp_path / "libnvrtc.so.13"))
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path / "cache"))

    def key_of_cell():
        cell = f"/tmp/ipykernel_{os.getpid()}/123.py"
        source = Source(f'#line 1 "{cell}"\n', name=cell, users=(LineRange(cell, 1, 2),))
        return unit_key(source, ("cuda", 9, 0))

    first = key_of_cell()
    monkeypatch.setattr(os, "getpid", lambda: 99)
    assert key_of_cell() == first


# ---- NVRTC's options and messages


def test_newest_supported_architecture_is_chosen():
    supported = [75, 80, 86, 90, 100, 120]
    choose = nvrtc.choose_architecture
    assert choose(9, 0, supported) == ("cubin", "sm_90")
    assert choose(8, 9, supported) == ("cubin", "sm_86")
    assert choose(13, 0, supported) == ("ptx", "compute_120")
    assert choose(11, 0, supported) == ("ptx", "compute_100")
    with pytest.raises(errors.CudaSupportError, match=r"7\.5 and later, the GPU has 6\.1"):
        choose(6, 1, supported)


def test_source_fields_become_nvrtc_options():
    unit = Source("", fastmath=True, lineinfo=True, opt=0, max_registers=32, options=("-DX=1",))
    found = nvrtc.nvrtc_options(unit, "sm_90", ("/inc",))
    for option in ("--gpu-architecture=sm_90", "--std=c++17", "--use_fast_math", "-DX=1", "-I/inc",
                   "--generate-line-info", "--ptxas-options=-O0", "--maxrregcount=32"):  # fmt: skip
        assert option in found
    own = nvrtc.nvrtc_options(Source("", options=("-std=c++20", "-arch=sm_80")), "sm_90")
    assert not [o for o in own if "c++17" in o or "sm_90" in o]
    assert "--device-debug" in nvrtc.nvrtc_options(Source("", debug=True), "sm_90")
    assert "--device-debug" not in nvrtc.nvrtc_options(Source("", boundscheck=True), "sm_90")
    for checked in ({"debug": True}, {"boundscheck": True}):
        assert "-DNUMBALITE_DEBUG=1" in nvrtc.nvrtc_options(Source("", **checked), "sm_90")


LOG = """lesson.py(14): error: identifier "undefined_x" is undefined
   x[0] = undefined_x;
          ^

lesson.py(15): warning #177-D: variable "u" was declared but never referenced
   int u;
       ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

__nv_name_map(2): error: identifier "flot" is undefined
  #pragma nv_mangled_name k<flot>
                            ^

__nv_name_map(2): error: Error in parsing name expression for lowered name lookup. Input name expression was: " k < flot >"
  #pragma nv_mangled_name k<flot>
                          ^

x.cu(1): catastrophic error: could not open source file "cuda/std/complex" (no directories in search list)
  #include <cuda/std/complex>
                             ^

4 errors detected in the compilation of "x.cu".
Compilation terminated.
"""


def test_messages_are_about_the_users_text():
    failure = nvrtc._compile_error(Source(""), {"status": 6, "log": LOG}, "source", (), (13, 0))
    text = str(failure)
    assert text.startswith('lesson.py(14): error: identifier "undefined_x" is undefined\n')
    assert 'in the name "k<flot>": error: identifier "flot" is undefined' in text
    assert "pip install -U nvidia-cuda-cccl" in text
    for noise in ("__nv_name_map", "detected", "terminated", "Remark", "never referenced"):
        assert noise not in text
    assert failure.log == LOG and failure.source == "source"


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="Linux alone has it")
def test_unreadable_files_are_reported():
    with pytest.raises(OSError, match="'/proc/self/mem'"):
        files.read_bytes("/proc/self/mem")
