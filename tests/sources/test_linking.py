"""link= with compiled code: nvJitLink needs no GPU, so its output is checked on any machine."""

import os
import random
import shutil
import struct
import subprocess

import pytest

from numbalite import cuda, errors, int32, int64
from numbalite.compilers import Source, compile_source, linking, toolkit

GPU = ("cuda", 9, 0)
SOURCE = 'extern "C" __device__ int after(int x) { return x + 1; }'
KERNEL = 'extern "C" __device__ int after(int); extern "C" __global__ void k(int* x) { x[0] = after(x[1]); }'

try:
    toolkit.linker_library()
except errors.CudaSupportError as problem:
    pytest.skip(str(problem), allow_module_level=True)

pytestmark = pytest.mark.usefixtures("own_cache")


def after_as(output):
    @cuda.jit(device=True)
    def after(x):
        "return x + 1;"

    return cuda.compile(after, int32(int32), cc=(9, 0), output=output)[0]


def link_binaries(*binaries, **fields):
    unit = Source(KERNEL, kernels=("k",), describe=False, linked=binaries, **fields)
    return compile_source(unit, GPU)


@pytest.mark.parametrize("kind", ["ptx", "cubin"])
def test_nvrtc_outputs_are_linked(kind):
    data = after_as(kind)
    binary = linking.LinkedBinary(kind, f"after.{kind}", data.encode() if kind == "ptx" else data)
    image = link_binaries(binary)
    assert image.kind == "cubin" and image.data[:4] == b"\x7fELF" and image.lowered == {"k": "k"}
    assert link_binaries(binary) == image, "from the cache"


@pytest.mark.parametrize("kind", ["cubin", "fatbin"])
def test_truncated_code_is_refused_before_the_linker_reads_it(kind):
    data = after_as("cubin")
    if kind == "fatbin":
        data = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(data)) + data
    for size in [0, 4, len(data) - 1, *random.sample(range(1, len(data)), 20)]:
        binary = linking.LinkedBinary(kind, f"after.{kind}", data[:size])
        with pytest.raises(errors.CompileError, match=f"after.{kind}: .*image"):
            link_binaries(binary)


def test_linker_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr(linking, "_LIMIT", 1e-3)
    binary = linking.LinkedBinary("ptx", "endless.ptx", after_as("ptx").encode())
    with pytest.raises(errors.CompileError, match="endless.ptx failed: .* did not end within"):
        link_binaries(binary)


def test_kernels_that_launch_kernels_link_the_device_runtime():
    source = "__global__ void j(int *x) { x[0]++; }\n__global__ void k(int *x) { j<<<1, 1, 0, cudaStreamTailLaunch>>>(x); }"
    try:
        toolkit.device_runtime()
    except errors.CudaSupportError as problem:
        pytest.skip(str(problem))
    image = compile_source(Source(source, kernels=("k",)), GPU)
    assert image.kind == "cubin" and image.lowered == {"k": "_Z1kPi"}
    with pytest.raises(errors.CompileError, match="cudaDeviceSynchronize"):
        compile_source(Source(source + "__global__ void l() { cudaDeviceSynchronize(); }"), GPU)


def test_missing_device_runtime_raises(monkeypatch):
    monkeypatch.setattr(toolkit, "_find_next_to_nvrtc", lambda *what: None)
    source = Source(
        "__global__ void j() {}\n__global__ void k() { j<<<1, 1>>>(); }", kernels=("k",)
    )
    with pytest.raises(errors.CudaSupportError, match="pip install nvidia-"):
        compile_source(source, GPU)


def test_declared_functions_link_ptx():
    source = 'extern "C" __device__ int twice(long* out, long x) { *out = 2 * x; return 0; } __global__ void k() {}'
    ptx, _ = cuda.compile(source, options=["-rdc=true"], cc=(9, 0))
    code = cuda.PTXSource(ptx, name="twice.ptx")
    here = cuda.declare_device("twice", "int64(int64)", link=code)
    late = cuda.declare_device("twice", "int64(int64)")

    @cuda.jit
    def call_here(x):
        "x[0] = here(x[0]);"

    @cuda.jit(link=[code])
    def with_code(x):
        "x[0] = late(x[0]);"

    @cuda.jit
    def call_late(x):
        "x[0] = late(x[0]);"

    for kernel in (call_here, with_code):
        images = kernel._source.kernel((int64[:],)).images
        assert images.image(GPU).data[:4] == b"\x7fELF"
    with pytest.raises(errors.CompileError, match=r"'twice'(?s:.*)hint: .* as link="):
        call_late._source.kernel((int64[:],)).images.image(GPU)


NVCC = shutil.which("nvcc")
MADE = {
    "fatbin": ["-arch=sm_90", "-rdc=true", "-fatbin"],
    "o": ["-arch=sm_90", "-dc"],
    "ltoir": ["-gencode", "arch=compute_90,code=lto_90", "-ltoir", "-dc"],
}


@pytest.mark.skipif(not NVCC, reason="nvcc makes these")
@pytest.mark.parametrize("suffix", ["fatbin", "o", "ltoir", "a"])
def test_nvcc_outputs_are_linked(tmp_path, suffix):
    (tmp_path / "after.cu").write_text(SOURCE)
    path, made = tmp_path / f"after.{suffix}", "o" if suffix == "a" else suffix
    output = tmp_path / f"after.{made}"
    # Runs nvcc without the libraries that a sanitizer preloads, because nvcc's own programs crash with them.
    variables = {**os.environ, "LD_PRELOAD": ""}
    command = [NVCC, *MADE[made], tmp_path / "after.cu", "-o", output]
    subprocess.run(command, env=variables, check=True)
    if suffix == "a":
        subprocess.run(["ar", "rcs", path, output], check=True)
    kernel = cuda.LinkableCode.from_path(path)
    (binary,) = cuda.jit(device=True, link=[kernel])(_identity_body).options.linked
    assert link_binaries(binary).data[:4] == b"\x7fELF"
    # Damaged files only raise errors, whatever the linker reports.
    whole = path.read_bytes()
    for data in (whole[: len(whole) // 2], whole + b"x" * (suffix == "a"), b"junk", b""):
        try:
            assert link_binaries(binary._replace(data=data)).data
        except errors.CompileError as problem:
            assert f"linking with after.{suffix} failed" in str(problem)


def _identity_body(x):
    "return x;"


def test_missing_symbols_are_reported():
    with pytest.raises(errors.CompileError, match=r"linking with other\.ptx failed.*after"):
        link_binaries(
            linking.LinkedBinary(
                "ptx", "other.ptx", after_as("ptx").replace("after", "other").encode()
            )
        )


def test_damaged_cubin_raises():
    data = after_as("cubin")
    with pytest.raises(errors.CompileError, match=r"linking with half\.cubin failed"):
        link_binaries(linking.LinkedBinary("cubin", "half.cubin", data[: len(data) // 2]))


def test_missing_nvjitlink_raises(monkeypatch):
    real = os.path.exists
    monkeypatch.setattr(os.path, "exists", lambda path: "nvJitLink" not in str(path) and real(path))
    with pytest.raises(errors.CudaSupportError, match="pip install nvidia-nvjitlink"):
        toolkit.linker_library()


def test_linked_source_may_include_cooperative_groups():
    """The linked source includes the toolkit's cooperative groups, so that numbalite's cooperative groups are
    not included before them."""
    source = cuda.CUSource("""#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __device__ int rank(int *result) {
    *result = cg::tiled_partition<32>(cg::this_thread_block()).thread_rank();
    return 0;
}""")
    rank = cuda.declare_device("rank", "int32()", link=source)

    @cuda.jit("void(int32[:])")
    def store_ranks(out):
        out[cuda.grid(1)] = rank()

    ptx, _ = cuda.compile_ptx(store_ranks, (int32[:],), cc=(9, 0))
    assert ".entry" in ptx and "store_ranks" in ptx
