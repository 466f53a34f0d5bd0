"""Tests data files of GPUs, and the occupancy that is computed from these files."""

import ctypes
import pathlib
import random
import re
import shutil
import subprocess

import pytest
from kit.needs import needs_nvrtc

from numbalite.compilers import compile_source, toolkit
from numbalite.compilers.source import Source
from numbalite.profiler import gpus
from numbalite.profiler.resources import Resources, read_resources


@pytest.mark.parametrize("name", ["T4", "A100", "RTX 4090", "H100", "H200", "B200"])
def test_each_gpu_specification_cites_a_source(name):
    gpu = gpus.find_gpu(name.lower().replace(" ", "-"))
    assert gpu.name == name
    assert gpus.find_gpu(gpu) is gpu
    assert set(gpu.sources) == set(gpu._fields) - {"name", "sources"}
    assert all(len(text) > 10 for text in gpu.sources.values())
    assert gpu.shared_bytes_of_block <= gpu.shared_bytes <= gpu.l1_bytes
    assert name in repr(gpu)


def test_all_gpus_are_listed():
    assert set(gpus.gpu_names()) == {"T4", "A100", "RTX 4090", "H100", "H200", "B200"}


ORACLE = r"""
#include <cuda_occupancy.h>
extern "C" int blocks(int major, int minor, int warps, int max_blocks, int shared, int shared_of_block, int reserved,
                      int registers, int static_shared, int threads, int dynamic) {
    cudaOccDeviceProp device;
    device.computeMajor = major;
    device.computeMinor = minor;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = 32 * warps;
    device.regsPerBlock = device.regsPerMultiprocessor = 65536;
    device.warpSize = 32;
    device.sharedMemPerBlock = 49152;
    device.sharedMemPerMultiprocessor = shared;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = shared_of_block;
    device.reservedSharedMemPerBlock = reserved;
    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = 1024;
    function.numRegs = registers;
    function.sharedSizeBytes = static_shared;
    function.partitionedGCConfig = PARTITIONED_GC_OFF;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = shared_of_block - static_shared;
    function.numBlockBarriers = 1;
    cudaOccDeviceState state;
    cudaOccResult result;
    cudaOccError status = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, dynamic);
    return status == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1;
}
"""


@pytest.fixture(scope="module")
def occupancy_of_nvidia(tmp_path_factory):
    """Compares the occupancy with NVIDIA's calculation in a header of the toolkit."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    found = [
        path
        for path in toolkit.include_directories()
        if pathlib.Path(path, "cuda_occupancy.h").is_file()
    ]
    if not compiler or not found:
        pytest.skip("needs a C++ compiler and cuda_occupancy.h of the CUDA toolkit")
    folder = tmp_path_factory.mktemp("occupancy")
    (folder / "oracle.cpp").write_text(ORACLE)
    command = [
        compiler,
        "-w",
        "-O1",
        "-shared",
        "-fPIC",
        "-I",
        found[0],
        "oracle.cpp",
        "-o",
        "oracle.so",
    ]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "oracle.so")).blocks


@pytest.mark.parametrize("name", ["T4", "A100", "RTX 4090", "H100", "H200", "B200"])
def test_occupancy_matches_nvidias_calculator(name, occupancy_of_nvidia):
    gpu = gpus.find_gpu(name)
    rng = random.Random(name)
    for _ in range(400):
        registers = rng.choice([16, 24, 32, 33, 40, 63, 64, 65, 96, 128, 168, 255])
        threads = rng.choice([1, 31, 32, 33, 64, 96, 128, 192, 256, 384, 512, 768, 1000, 1024])
        static = rng.choice([0, 4, 1000, 4096, 16384, 48 * 1024])
        dynamic = rng.choice([0, 0, 512, 8192, 20000, 60000])
        if static + dynamic > gpu.shared_bytes_of_block:
            continue
        found = Resources(registers, static, 0).occupancy(gpu, threads, dynamic)
        expected = occupancy_of_nvidia(
            *gpu.capability, gpu.warps, gpu.blocks, gpu.shared_bytes, gpu.shared_bytes_of_block,
            gpu.reserved_shared_bytes, registers, static, threads, dynamic,
        )  # fmt: skip
        assert found.blocks == expected, (registers, threads, static, dynamic, found)


KERNELS = """
extern "C" __global__ void plain(float *x) { x[threadIdx.x] = 1; }
extern "C" __global__ void staged(float *x) {
    __shared__ float tile[33][32];
    tile[threadIdx.x % 33][threadIdx.x % 32] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[threadIdx.x % 32][threadIdx.x % 31];
}
extern "C" __global__ void spilled(int *x, int n) {
    int own[100];
    for (int i = 0; i < 100; ++i) own[i] = x[i];
    for (int i = 0; i < n; ++i) own[(own[i % 100] & 63) + i % 3] += i;
    x[threadIdx.x] = own[n % 100];
}
"""


@needs_nvrtc
@pytest.mark.parametrize("name", ["T4", "A100", "RTX 4090", "H100", "B200"])
def test_registers_shared_and_local_memory_are_those_that_ptxas_reports(name, tmp_path):
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if not ptxas:
        pytest.skip("needs ptxas of the CUDA toolkit")
    gpu = gpus.find_gpu(name)
    symbols = ("plain", "staged", "spilled")
    image = compile_source(
        Source(KERNELS, "k.cu", symbols, describe=False), ("cuda", *gpu.capability)
    )
    major, minor = gpu.capability
    (tmp_path / "k.ptx").write_bytes(image.ptx.rstrip(b"\0"))
    report = subprocess.run(
        [ptxas, "-v", f"-arch=sm_{major}{minor}", "k.ptx", "-o", "k.cubin"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    ).stderr  # fmt: skip
    for symbol in symbols:
        part = report.partition(f"properties for {symbol}\n")[2].partition("Compile time")[0]
        found = read_resources(image.data, symbol)
        assert found.registers == int(re.search(r"Used (\d+) registers", part)[1])
        assert found.local_bytes == int(re.search(r"(\d+) bytes stack frame", part)[1])
        shared = re.search(r"(\d+) bytes smem", part)
        assert found.shared_bytes == (int(shared[1]) if shared else 0)


def test_invalid_cubin_raises():
    with pytest.raises(ValueError, match="no ELF file"):
        read_resources(b"nothing" * 20, "plain")
