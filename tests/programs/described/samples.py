"""Describes kernels of NVIDIA/cuda-samples."""

import numpy as np

from described import describe_file, inout, integers, output, reals

HOME = "NVIDIA+cuda-samples/Samples"

with describe_file(f"{HOME}/0_Introduction/vectorAdd/vectorAdd.cu") as file:
    file.run(
        "vectorAdd",
        9,
        128,
        reals(1000),
        reals(1000),
        output(1000),
        1000,
        oracle=lambda a, b, n: a + b,
    )

with describe_file(f"{HOME}/0_Introduction/matrixMul/matrixMul.cu") as file:
    for size in 16, 32:
        file.run(
            f"MatrixMulCUDA<{size}>",
            (3, 2),
            (size, size),
            output(2 * size, 3 * size),
            integers(2 * size, 64),
            integers(64, 3 * size),
            64,
            3 * size,
            oracle=lambda a, b, *n: a.astype("f8") @ b,
        )


def _block_sums(data, width):
    sums = data.reshape(-1, width).cumsum(1)
    return sums, sums[:, -1]


def _block_scan(data, *n):
    return _block_sums(data, 256)


def _image_rows(image):
    return image.view("u1").reshape(40, 1920).cumsum(1)


PARTIAL = "reads sums["
WHY = "a block of 120 threads leaves the sum of its last, smaller warp unwritten, and the first warp reads all 32"
with describe_file(f"{HOME}/2_Concepts_and_Techniques/shfl_scan/shfl_scan.cu") as file:
    file.run(
        "shfl_scan_test",
        5,
        256,
        inout(integers(5 * 256, low=0, high=9, dtype="i4")),
        32,
        output(5, dtype="i4"),
        shared=32,
        oracle=_block_scan,
    )
    file.run(
        "uniform_add",
        4,
        256,
        inout(integers(4 * 256, dtype="i4")),
        integers(4, dtype="i4"),
        1024,
        oracle=lambda x, p, n: x.reshape(4, 256) + p[:, None],
    )
    file.run(
        "shfl_intimage_rows",
        40,
        120,
        integers(40 * 120, 4, low=0, high=9999, dtype="u4"),
        output(40 * 480, 4, dtype="u4"),
        oracle=_image_rows,
        finds=PARTIAL,
        because=WHY,
    )
    file.run(
        "shfl_vertical_shfl",
        3,
        (32, 8),
        inout(integers(1080, 96, low=0, high=9, dtype="u4")),
        96,
        1080,
        oracle=lambda x, w, h: x.cumsum(0),
    )


with describe_file(f"{HOME}/6_Performance/transpose/transpose.cu") as file:
    for name in (
        "copy",
        "copySharedMem",
        "transposeNaive",
        "transposeCoalesced",
        "transposeNoBankConflicts",
        "transposeDiagonal",
    ):
        file.run(
            name,
            (2, 2),
            (32, 16),
            output(64, 64),
            reals(64, 64),
            64,
            64,
            oracle=(lambda x, *n: x) if "copy" in name else lambda x, *n: x.T,
        )

with describe_file(f"{HOME}/2_Concepts_and_Techniques/scalarProd/scalarProd_kernel.cuh") as file:
    file.run(
        "scalarProdGPU",
        4,
        256,
        output(7),
        integers(7, 3000),
        integers(7, 3000),
        7,
        3000,
        oracle=lambda a, b, *n: (a * b.astype("f8")).sum(1),
    )


def _exclusive_scan(x, size):
    rows = x.reshape(-1, size)
    return rows.cumsum(1) - rows


with describe_file(f"{HOME}/2_Concepts_and_Techniques/scan/scan.cu") as file:
    file.run(
        "scanExclusiveShared",
        4,
        256,
        output(1024, 4, dtype="u4"),
        integers(1024, 4, low=0, high=99, dtype="u4"),
        1024,
        oracle=_exclusive_scan,
    )
    file.run(
        "uniformUpdate",
        4,
        256,
        inout(integers(1024, 4, low=0, high=99, dtype="u4")),
        integers(4, low=0, dtype="u4"),
        oracle=lambda x, b: x.reshape(4, 1024) + b[:, None],
    )


def _walsh_transform(x, log):
    x = x.reshape(-1, 1 << log)
    signs = [[(-1) ** bin(i & j).count("1") for j in range(1 << log)] for i in range(1 << log)]
    return x @ np.array(signs, "f8")


with describe_file(
    f"{HOME}/5_Domain_Specific/fastWalshTransform/fastWalshTransform_kernel.cuh"
) as file:
    file.run(
        "fwtBatch1Kernel",
        3,
        64,
        output(3 * 256),
        integers(3 * 256),
        8,
        shared=1024,
        oracle=_walsh_transform,
    )
    file.run(
        "modulateKernel",
        2,
        128,
        inout(integers(256)),
        integers(256),
        256,
        oracle=lambda a, b, n: a * b / n,
    )

with describe_file(f"{HOME}/3_CUDA_Features/cdpSimpleQuicksort/cdpSimpleQuicksort.cu") as file:
    file.run(
        "cdp_simple_quicksort",
        1,
        1,
        inout(integers(500, low=0, high=500, dtype="u4")),
        0,
        499,
        0,
        oracle=lambda x, *n: np.sort(x),
    )
