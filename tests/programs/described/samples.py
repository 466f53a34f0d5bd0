"""NVIDIA/cuda-samples."""

import numpy as np

from described import changed, out, real, unit, whole

HOME = "NVIDIA+cuda-samples/Samples"

with unit(f"{HOME}/0_Introduction/vectorAdd/vectorAdd.cu") as file:
    file.run(
        "vectorAdd", 9, 128, real(1000), real(1000), out(1000), 1000, oracle=lambda a, b, n: a + b
    )

with unit(f"{HOME}/0_Introduction/matrixMul/matrixMul.cu") as file:
    for size in 16, 32:
        file.run(
            f"MatrixMulCUDA<{size}>",
            (3, 2),
            (size, size),
            out(2 * size, 3 * size),
            whole(2 * size, 64),
            whole(64, 3 * size),
            64,
            3 * size,
            oracle=lambda a, b, *n: a.astype("f8") @ b,
        )


def _blocks(data, width):
    sums = data.reshape(-1, width).cumsum(1)
    return sums, sums[:, -1]


def _scanned(data, *n):
    return _blocks(data, 256)


def _image_rows(image):
    return image.view("u1").reshape(40, 1920).cumsum(1)


PARTIAL = "reads sums["
WHY = "a block of 120 threads leaves the sum of its last, smaller warp unwritten, and the first warp reads all 32"
with unit(f"{HOME}/2_Concepts_and_Techniques/shfl_scan/shfl_scan.cu") as file:
    file.run(
        "shfl_scan_test",
        5,
        256,
        changed(whole(5 * 256, low=0, high=9, dtype="i4")),
        32,
        out(5, dtype="i4"),
        shared=32,
        oracle=_scanned,
    )
    file.run(
        "uniform_add",
        4,
        256,
        changed(whole(4 * 256, dtype="i4")),
        whole(4, dtype="i4"),
        1024,
        oracle=lambda x, p, n: x.reshape(4, 256) + p[:, None],
    )
    file.run(
        "shfl_intimage_rows",
        40,
        120,
        whole(40 * 120, 4, low=0, high=9999, dtype="u4"),
        out(40 * 480, 4, dtype="u4"),
        oracle=_image_rows,
        finds=PARTIAL,
        because=WHY,
    )
    file.run(
        "shfl_vertical_shfl",
        3,
        (32, 8),
        changed(whole(1080, 96, low=0, high=9, dtype="u4")),
        96,
        1080,
        oracle=lambda x, w, h: x.cumsum(0),
    )


with unit(f"{HOME}/6_Performance/transpose/transpose.cu") as file:
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
            out(64, 64),
            real(64, 64),
            64,
            64,
            oracle=(lambda x, *n: x) if "copy" in name else lambda x, *n: x.T,
        )

with unit(f"{HOME}/2_Concepts_and_Techniques/scalarProd/scalarProd_kernel.cuh") as file:
    file.run(
        "scalarProdGPU",
        4,
        256,
        out(7),
        whole(7, 3000),
        whole(7, 3000),
        7,
        3000,
        oracle=lambda a, b, *n: (a * b.astype("f8")).sum(1),
    )


def _exclusive(x, size):
    rows = x.reshape(-1, size)
    return rows.cumsum(1) - rows


with unit(f"{HOME}/2_Concepts_and_Techniques/scan/scan.cu") as file:
    file.run(
        "scanExclusiveShared",
        4,
        256,
        out(1024, 4, dtype="u4"),
        whole(1024, 4, low=0, high=99, dtype="u4"),
        1024,
        oracle=_exclusive,
    )
    file.run(
        "uniformUpdate",
        4,
        256,
        changed(whole(1024, 4, low=0, high=99, dtype="u4")),
        whole(4, low=0, dtype="u4"),
        oracle=lambda x, b: x.reshape(4, 1024) + b[:, None],
    )


def _walsh(x, log):
    x = x.reshape(-1, 1 << log)
    signs = [[(-1) ** bin(i & j).count("1") for j in range(1 << log)] for i in range(1 << log)]
    return x @ np.array(signs, "f8")


with unit(f"{HOME}/5_Domain_Specific/fastWalshTransform/fastWalshTransform_kernel.cuh") as file:
    file.run("fwtBatch1Kernel", 3, 64, out(3 * 256), whole(3 * 256), 8, shared=1024, oracle=_walsh)
    file.run(
        "modulateKernel",
        2,
        128,
        changed(whole(256)),
        whole(256),
        256,
        oracle=lambda a, b, n: a * b / n,
    )

with unit(f"{HOME}/3_CUDA_Features/cdpSimpleQuicksort/cdpSimpleQuicksort.cu") as file:
    file.run(
        "cdp_simple_quicksort",
        1,
        1,
        changed(whole(500, low=0, high=500, dtype="u4")),
        0,
        499,
        0,
        oracle=lambda x, *n: np.sort(x),
    )
