"""Describes kernels of smaller projects: products of matrices step by step, and examples of
courses."""

import numpy as np

from described import describe_file, inout, integers, output, reals

HOME = "siboehm+SGEMM_CUDA/src/kernels"


def _gemm(m, n, k, alpha, a, b, beta, c):
    return alpha * (a.astype("f8") @ b) + beta * c


def _gemm_case(file, kernel, grid, block, m, n, k, finds="", because=""):
    given = (
        m,
        n,
        k,
        2.0,
        integers(m, k),
        integers(k, n),
        3.0,
        inout(integers(m, n)),
    )
    file.run(
        kernel, grid, block, *given, oracle=None if finds else _gemm, finds=finds, because=because
    )


with describe_file(f"{HOME}/1_naive.cuh") as file:
    _gemm_case(file, "sgemm_naive", (2, 3), (32, 32), 50, 90, 40)
with describe_file(f"{HOME}/2_kernel_global_mem_coalesce.cuh") as file:
    _gemm_case(file, "sgemm_global_mem_coalesce<32>", (2, 3), 1024, 50, 90, 40)
with describe_file(f"{HOME}/3_kernel_shared_mem_blocking.cuh") as file:
    _gemm_case(file, "sgemm_shared_mem_block<32>", (2, 3), 1024, 64, 96, 64)
with describe_file(f"{HOME}/4_kernel_1D_blocktiling.cuh") as file:
    _gemm_case(file, "sgemm1DBlocktiling<64, 64, 8, 8>", (2, 1), 512, 64, 128, 32)
for name, kernel in (
    ("5_kernel_2D_blocktiling", "sgemm2DBlocktiling"),
    ("6_kernel_vectorize", "sgemmVectorize"),
    ("7_kernel_resolve_bank_conflicts", "sgemmResolveBankConflicts"),
    ("8_kernel_bank_extra_col", "sgemmResolveBankExtraCol"),
):
    with describe_file(f"{HOME}/{name}.cuh") as file:
        _gemm_case(file, f"{kernel}<128, 128, 8, 8, 8>", (2, 1), 256, 128, 256, 32)
        if name.startswith("6"):
            half = "64 threads bring 4 elements each of a tile that has 512"
            _gemm_case(
                file,
                f"{kernel}<64, 64, 8, 8, 8>",
                (2, 1),
                64,
                64,
                128,
                32,
                "nothing has written",
                half,
            )
with describe_file(f"{HOME}/9_kernel_autotuned.cuh") as file:
    _gemm_case(file, "sgemmAutotuned<64, 64, 16, 4, 4>", (2, 1), 256, 64, 128, 32)
with describe_file(f"{HOME}/10_kernel_warptiling.cuh") as file:
    _gemm_case(file, "sgemmWarptiling<64, 64, 16, 32, 32, 2, 4, 4, 128>", (2, 1), 128, 64, 128, 32)
with describe_file(f"{HOME}/11_kernel_double_buffering.cuh", ("-DWARPSIZE=32",)) as file:
    apart = "the halves of a block wait at __syncthreads() of different lines, as a GPU allows"
    name = "sgemmDoubleBuffering<64, 64, 16, 32, 32, 2, 4, 4, 256>"
    _gemm_case(file, name, (2, 1), 256, 64, 128, 32, "are at different barriers", apart)

BOOK = "brucefan1983+CUDA-Programming/src"


def _add(x, y, *n):
    return x + y


for path, kernel, grid, extra in (
    ("03-basic-framework/add1.cu", "add", 8, ()),
    ("03-basic-framework/add3if.cu", "add", 9, (1000,)),
    ("03-basic-framework/add4device.cu", "add1", 9, (1000,)),
    ("03-basic-framework/add4device.cu", "add2", 9, (1000,)),
    ("03-basic-framework/add4device.cu", "add3", 9, (1000,)),
    ("04-error-check/check2kernel.cu", "add", 9, (1000,)),
    ("12-unified-memory/add.cu", "add", 8, ()),
):
    size = extra[0] if extra else 1024
    with describe_file(f"{BOOK}/{path}", name=f"{BOOK}/{path} {kernel}") as file:
        file.run(
            kernel,
            grid,
            128,
            reals(size, dtype="f8"),
            reals(size, dtype="f8"),
            output(size, dtype="f8"),
            *extra,
            oracle=_add,
        )
with describe_file(f"{BOOK}/05-prerequisites-for-speedup/add2gpu.cu") as file:
    file.run("add", 9, 128, reals(1000), reals(1000), output(1000), 1000, oracle=_add)
with describe_file(f"{BOOK}/07-global-memory/matrix.cu") as file:
    for name in "copy", "transpose1", "transpose2", "transpose3":
        file.run(
            name,
            (2, 2),
            (32, 32),
            reals(50, 50),
            output(50, 50),
            50,
            oracle=(lambda a, n: a) if name == "copy" else lambda a, n: a.T,
        )
with describe_file(f"{BOOK}/08-shared-memory/bank.cu") as file:
    for name in "transpose1", "transpose2":
        file.run(
            name,
            (2, 2),
            (32, 32),
            reals(50, 50),
            output(50, 50),
            50,
            oracle=lambda a, n: a.T,
        )


def _padded_block_sums(x, *n):
    padded = np.zeros(8 * 128)
    padded[: x.size] = x
    return padded.reshape(8, 128).sum(1)


with describe_file(f"{BOOK}/08-shared-memory/reduce2gpu.cu") as file:
    file.run(
        "reduce_global",
        8,
        128,
        inout(integers(1024)),
        output(8),
        oracle=lambda x: (None, _padded_block_sums(x)),
    )
with describe_file(f"{BOOK}/10-warp/reduce.cu") as file:
    for name in "reduce_syncwarp", "reduce_shfl", "reduce_cp":
        file.run(
            name,
            8,
            128,
            integers(1000),
            output(1),
            1000,
            shared=512,
            oracle=lambda x, n: x.sum(dtype="f8"),
        )
with describe_file(f"{BOOK}/10-warp/reduce1parallelism.cu") as file:
    file.run(
        "reduce_cp",
        3,
        128,
        integers(1000),
        output(3),
        1000,
        shared=512,
        oracle=lambda x, n: np.bincount(np.arange(1000) % 384 // 128, x),
    )

LESSONS = "gpu-mode+lectures"


def _to_grey(pixels, w, h):
    r, g, b = (pixels.reshape(h * w, 3)[:, i].astype("f4") for i in range(3))
    return (np.float32(0.21) * r + np.float32(0.71) * g + np.float32(0.07) * b).astype("u1")


with describe_file(f"{LESSONS}/lecture_002/vector_addition/vector_addition.cu") as file:
    file.run(
        "vecAddKernel",
        9,
        128,
        reals(1000),
        reals(1000),
        output(1000),
        1000,
        oracle=_add,
    )
for name, kernel in (
    ("coalesce", "copyDataNonCoalesced"),
    ("coalesce", "copyDataCoalesced"),
    ("occupancy", "copyDataCoalesced"),
):
    with describe_file(
        f"{LESSONS}/lecture_008/{name}.cu", name=f"{LESSONS}/lecture_008/{name}.cu {kernel}"
    ) as file:
        file.run(
            kernel,
            8,
            128,
            reals(1024),
            output(1024),
            1024,
            oracle=(lambda x, n: np.where(True, x[np.arange(n) * 2 % n], 0))
            if "Non" in kernel
            else lambda x, n: x,
        )
with describe_file(f"{LESSONS}/lecture_008/tiling.cu") as file:
    for name in "matrixMulSimple", "matrixMulTiled":
        file.run(
            name,
            (4, 4),
            (16, 16),
            integers(64, 64),
            integers(64, 64),
            output(64, 64),
            64,
            oracle=lambda a, b, w: a.astype("f8") @ b,
        )
with describe_file(f"{LESSONS}/lecture_001/load_inline_cuda/cuda.cu") as file:
    file.run(
        "square_matrix_kernel",
        (3, 3),
        (16, 16),
        reals(40, 45),
        output(40, 45),
        45,
        40,
        oracle=lambda x, w, h: x * x,
    )
with describe_file(f"{LESSONS}/lecture_009/simple_reduce.cu") as file:
    file.run(
        "SimpleSumReductionKernel",
        1,
        512,
        inout(integers(1024)),
        output(1),
        oracle=lambda x: (None, x.sum(dtype="f8")),
    )
with describe_file(f"{LESSONS}/lecture_009/control_divergence_reduce.cu") as file:
    file.run(
        "FixDivergenceKernel",
        1,
        512,
        inout(integers(1024)),
        output(1),
        oracle=lambda x: (None, x.sum(dtype="f8")),
    )
with describe_file(f"{LESSONS}/lecture_009/segment_reduce.cu") as file:
    file.run(
        "SharedMemoryReduction",
        4,
        1024,
        integers(4096),
        output(1),
        4096,
        oracle=lambda x, n: x.sum(dtype="f8"),
    )
