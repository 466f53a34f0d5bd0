"""Describes kernels of xlite-dev/LeetCUDA: element-wise kernels, reductions, norms, softmax,
transpositions, products."""

import math

import numpy as np

from described import constant, describe_file, integers, output, reals

HOME = "xlite-dev+LeetCUDA/kernels"
N = 2048
OF_HALF = 4e-3


def _relu(x, n):
    return np.maximum(x, 0)


def _sigmoid(x, n):
    return 1 / (1 + np.exp(-x.astype("f8")))


def _swish(x, n):
    return x * _sigmoid(x, n)


def _elu(x, n):
    return np.where(x > 0, x, np.exp(x.astype("f8")) - 1)


def _gelu(x, n):
    x = x.astype("f8")
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _hardshrink(x, n):
    return np.where((x > 0.5) | (x < -0.5), x, 0)


def _hardswish(x, n):
    x = x.astype("f8")
    return np.where(x >= 3, x, np.where(x <= -3, 0, x * (x + 3) / 6))


SUFFIXES = ("f32", 1), ("f32x4", 4), ("f16", 1), ("f16x2", 2), ("f16x8", 8), ("f16x8_pack", 8)

for name, folder, oracle, within, wide in (
    ("relu", "relu", _relu, 0, 4),
    ("relu", "nvidia-nsight", _relu, 0, 4),
    ("sigmoid", "sigmoid", _sigmoid, 1e-6, 4),
    ("swish", "swish", _swish, 1e-6, 4),
    ("elu", "elu", _elu, 1e-6, 4),
    ("gelu", "gelu", _gelu, 1e-6, 2),
    ("hardshrink", "hardshrink", _hardshrink, 0, 2),
    ("hardswish", "hardswish", _hardswish, 1e-6, 4),
):
    with describe_file(f"{HOME}/{folder}/{name}.cu") as file:
        for suffix, each in SUFFIXES:
            kind = "f2" if "f16" in suffix else "f4"
            x = reals(N, low=-wide, high=wide, dtype=kind)
            allowed = within and (1e-2 if name == "gelu" else OF_HALF) if kind == "f2" else within
            file.run(
                f"{name}_{suffix}_kernel",
                N // each // 64,
                64,
                x,
                output(N, dtype=kind),
                N,
                oracle=oracle,
                within=allowed,
            )

for folder in "elementwise", "nvidia-nsight":
    with describe_file(f"{HOME}/{folder}/elementwise.cu") as file:
        for suffix, each in SUFFIXES:
            kind = "f2" if "f16" in suffix else "f4"
            x = reals(N, dtype=kind)
            file.run(
                f"elementwise_add_{suffix}_kernel",
                N // each // 64,
                64,
                x,
                x,
                output(N, dtype=kind),
                N,
                oracle=lambda a, b, n: a + b,
            )

with describe_file(f"{HOME}/histogram/histogram.cu") as file:
    values = integers(N, low=0, high=40, dtype="i4")
    for suffix, each in ("i32", 1), ("i32x4", 4):
        file.run(
            f"histogram_{suffix}_kernel",
            N // each // 64,
            64,
            values,
            output(40, dtype="i4"),
            N,
            oracle=lambda a, n: np.bincount(a, minlength=40),
        )

with describe_file(f"{HOME}/dot-product/dot_product.cu") as file:
    for suffix, each in (
        ("f32_f32", 1),
        ("f32x4_f32", 4),
        ("f16_f32", 1),
        ("f16x2_f32", 2),
        ("f16x8_pack_f32", 8),
    ):
        kind = "f2" if "f16" in suffix else "f4"
        file.run(
            f"dot_prod_{suffix}_kernel<{256 // each}>",
            4,
            256 // each,
            integers(1024, dtype=kind),
            integers(1024, dtype=kind),
            output(1),
            1024,
            oracle=lambda a, b, n: a.astype("f8") @ b,
        )

with describe_file(f"{HOME}/embedding/embedding.cu") as file:
    for suffix, each in SUFFIXES:
        if suffix == "f16x2":
            continue
        kind = "f2" if "f16" in suffix else "f4"
        suffix = "f32x4_pack" if suffix == "f32x4" else suffix
        file.run(
            f"embedding_{suffix}_kernel",
            20,
            128 // each,
            integers(20, low=0, high=50, dtype="i4"),
            reals(50, 128, dtype=kind),
            output(20, 128, dtype=kind),
            20,
            128,
            oracle=lambda index, weight, n, size: weight[index],
        )
    file.run(
        "embedding_f32x4_kernel",
        20,
        32,
        integers(20, low=0, high=50, dtype="i4"),
        reals(50, 128),
        output(20, 128),
        20,
        128,
        oracle=lambda index, weight, n, size: weight[index],
    )


def _expected_rope(x, length, n):
    pairs = x.reshape(length, n, 2).astype("f8")
    angle = np.arange(length)[:, None] / 10000 ** (2 * np.arange(n) / (2 * n))
    z = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * angle)
    return np.stack([z.real, z.imag], -1)


with describe_file(f"{HOME}/rope/rope.cu") as file:
    for name, grid, block, n in (
        ("rope_f32_kernel", 8, 128, 64),
        ("rope_f32_v2_kernel", 16, 64, 64),
        ("rope_f32x4_pack_kernel", 4, 128, 32),
    ):
        file.run(
            name,
            grid,
            block,
            reals(16, 128),
            output(16, 128),
            16,
            n,
            oracle=lambda x, s, n: _expected_rope(x, 16, 64),
            within=2e-5,
        )

with describe_file(f"{HOME}/mat-transpose/mat_transpose.cu") as file:
    R, C = 64, 128
    for name in "f32_col2row", "f32_row2col":
        file.run(
            f"mat_transpose_{name}_kernel",
            R * C // 128,
            128,
            reals(R, C),
            output(C, R),
            R,
            C,
            oracle=lambda x, r, c: x.T,
        )
    for name in "f32x4_col2row", "f32x4_row2col":
        file.run(
            f"mat_transpose_{name}_kernel",
            R * C // 512,
            128,
            reals(R, C),
            output(C, R),
            R,
            C,
            oracle=lambda x, r, c: x.T,
        )
    file.run(
        "mat_transpose_f32_diagonal2d_kernel",
        (4, 4),
        (16, 16),
        reals(64, 64),
        output(64, 64),
        64,
        64,
        oracle=lambda x, r, c: x.T,
    )
    for name in "f32_col2row2d", "f32_row2col2d":
        grid = (C // 16, R // 16)
        file.run(
            f"mat_transpose_{name}_kernel",
            grid,
            (16, 16),
            reals(R, C),
            output(C, R),
            R,
            C,
            oracle=lambda x, r, c: x.T,
        )
    for name in "", "shared_", "shared_bcf_":
        file.run(
            f"mat_transpose_f32x4_{name}col2row2d_kernel",
            (C // 64, R // 16),
            (16, 16),
            reals(R, C),
            output(C, R),
            R,
            C,
            oracle=lambda x, r, c: x.T,
        )
        file.run(
            f"mat_transpose_f32x4_{name}row2col2d_kernel",
            (C // 16, R // 64),
            (16, 16),
            reals(R, C),
            output(C, R),
            R,
            C,
            oracle=lambda x, r, c: x.T,
        )
    file.run(
        "mat_transpose_f32x4_shared_bcf_merge_write_row2col2d_kernel",
        (C // 16, R // 64),
        (16, 16),
        reals(R, C),
        output(C, R),
        R,
        C,
        oracle=lambda x, r, c: x.T,
    )

with describe_file(f"{HOME}/swizzle/mat_trans_swizzle.cu") as file:
    for name in "naive", "padding", "swizzle":
        file.run(
            f"mat_trans_smem_{name}_kernel",
            (3, 2),
            (32, 32),
            integers(64, 96, dtype="i4"),
            64,
            96,
            output(96, 64, dtype="i4"),
            oracle=lambda a, m, n: a.T,
        )

with describe_file(f"{HOME}/reduce/block_all_reduce.cu") as file:
    for kind, each in (
        ("f32_f32", 1),
        ("f32x4_f32", 4),
        ("f16_f16", 1),
        ("f16_f32", 1),
        ("f16x2_f32", 2),
        ("f16x2_f16", 2),
        ("f16x8_pack_f16", 8),
        ("f16x8_pack_f32", 8),
        ("i8_i32", 1),
        ("i8x16_pack_i32", 16),
    ):
        dtype = {"f3": "f4", "f1": "f2", "i8": "i1"}[kind[:2]]
        file.run(
            f"block_all_reduce_sum_{kind}_kernel<{256 // each}>",
            4,
            256 // each,
            integers(1024, dtype=dtype),
            output(1, dtype="i4" if kind[0] == "i" else "f4"),
            1024,
            oracle=lambda a, n: a.sum(dtype="f8"),
        )

with describe_file(f"{HOME}/nms/nms.cu") as file:
    # boxes do not overlap, so the result does not depend on the order of threads
    corners = np.stack(
        [np.arange(100) * 3, np.zeros(100), np.arange(100) * 3 + 2, np.full(100, 5)], -1
    )
    file.run(
        "nms_kernel",
        4,
        32,
        constant(corners),
        reals(100),
        output(100, dtype="i4", fill=1),
        100,
        0.5,
        oracle=lambda b, s, n, t: np.ones(100),
        finds="reads keep[",
        because="a thread reads keep[i] of another box, which that box's thread writes, with nothing that orders them",
    )


def _matrix_product(a, b, m, n, k):
    return a.astype("f8") @ b


with describe_file(f"{HOME}/sgemv/sgemv.cu") as file:

    def matrix_vector_product(a, x, m, k):
        return a.astype("f8") @ x

    file.run(
        "sgemv_k32_f32_kernel",
        16,
        (32, 4),
        integers(64, 96),
        integers(96),
        output(64),
        64,
        96,
        oracle=matrix_vector_product,
    )
    file.run(
        "sgemv_k128_f32x4_kernel",
        16,
        (32, 4),
        integers(64, 256),
        integers(256),
        output(64),
        64,
        256,
        oracle=matrix_vector_product,
    )
    file.run(
        "sgemv_k16_f32_kernel<2>",
        8,
        (32, 4),
        integers(64, 16),
        integers(16),
        output(64),
        64,
        16,
        oracle=matrix_vector_product,
    )

with describe_file(f"{HOME}/hgemv/hgemv.cu") as file:
    file.run(
        "hgemv_k32_f16_kernel",
        16,
        (32, 4),
        integers(64, 96, dtype="f2"),
        integers(96, dtype="f2"),
        output(64, dtype="f2"),
        64,
        96,
        oracle=matrix_vector_product,
    )
    file.run(
        "hgemv_k128_f16x4_kernel",
        16,
        (32, 4),
        integers(64, 256, dtype="f2"),
        integers(256, dtype="f2"),
        output(64, dtype="f2"),
        64,
        256,
        oracle=matrix_vector_product,
    )
    file.run(
        "hgemv_k16_f16_kernel<2>",
        8,
        (32, 4),
        integers(64, 16, dtype="f2"),
        integers(16, dtype="f2"),
        output(64, dtype="f2"),
        64,
        16,
        oracle=matrix_vector_product,
    )

with describe_file(f"{HOME}/sgemm/sgemm.cu") as file:
    file.run(
        "sgemm_naive_f32_kernel",
        (2, 2),
        (32, 32),
        integers(64, 40),
        integers(40, 64),
        output(64, 64),
        64,
        64,
        40,
        oracle=_matrix_product,
    )
    file.run(
        "sgemm_sliced_k_f32_kernel<32, 32, 32>",
        (2, 2),
        (32, 32),
        integers(64, 64),
        integers(64, 64),
        output(64, 64),
        64,
        64,
        64,
        oracle=_matrix_product,
    )
    for name in "", "_bcf", "_bcf_dbuf":
        arguments = "<128, 128, 8, 8, 8, 0>" if name else "<128, 128, 8, 8, 8>"
        file.run(
            f"sgemm_t_8x8_sliced_k_f32x4{name}_kernel{arguments}",
            (1, 2),
            (16, 16),
            integers(256, 32),
            integers(32, 128),
            output(256, 128),
            256,
            128,
            32,
            oracle=_matrix_product,
        )

with describe_file(f"{HOME}/sgemm/sgemm_async.cu") as file:
    for size, bm, bn, tm, tn in (
        ("8x4", 64, 64, 8, 4),
        ("8x8", 128, 128, 8, 8),
        ("8x16", 128, 256, 8, 16),
    ):
        for kind in "", "_async":
            file.run(
                f"sgemm_t_{size}_sliced_k16_f32x4_bcf_dbuf{kind}_kernel<>",
                (1, 1),
                (bn // tn, bm // tm),
                integers(bm, 32),
                integers(32, bn),
                output(bm, bn),
                bm,
                bn,
                32,
                oracle=_matrix_product,
            )


def _softmax(x, n):
    e = np.exp(x.astype("f8") - x.astype("f8").max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


S, H = 12, 256
BEYOND = {
    "finds": "reads shared[",
    "because": "all 32 lanes of the first warp read an array with one element for each warp",
}
with describe_file(f"{HOME}/softmax/softmax.cu") as file:
    for name, each, kind in (
        ("softmax_f32", 1, "f4"),
        ("softmax_f32x4", 4, "f4"),
        ("safe_softmax_f32", 1, "f4"),
        ("safe_softmax_f32x4", 4, "f4"),
        ("safe_softmax_f16_f32", 1, "f2"),
        ("safe_softmax_f16x2_f32", 2, "f2"),
        ("safe_softmax_f16x8_pack_f32", 8, "f2"),
        ("online_safe_softmax_f32", 1, "f4"),
        ("online_safe_softmax_f32x4_pack", 4, "f4"),
    ):
        file.run(
            f"{name}_per_token_kernel<{H // each}>",
            S,
            H // each,
            reals(S, H, dtype=kind),
            output(S, H, dtype=kind),
            S * H,
            oracle=_softmax,
            within=1e-5 if kind == "f4" else 1e-3,
            **(BEYOND if name.startswith("online") else {}),
        )


def _rms_norm(x, g, n, k):
    x = x.astype("f8")
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * g


def _layer_norm(x, g, b, n, k):
    x = x.astype("f8")
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


for name, folder, numbers, oracle in (
    ("rms_norm", "rms-norm", (1.5,), _rms_norm),
    ("layer_norm", "layer-norm", (1.5, 0.5), _layer_norm),
):
    with describe_file(f"{HOME}/{folder}/{name}.cu") as file:
        for suffix, each in (
            ("f32", 1),
            ("f32x4", 4),
            ("f16_f16", 1),
            ("f16x2_f16", 2),
            ("f16x8_f16", 8),
            ("f16_f32", 1),
            ("f16x8_pack_f16", 8),
            ("f16x8_pack_f32", 8),
            ("f16x8_f32", 8),
        ):
            if name == "layer_norm" and suffix == "f16x8_f32":
                continue
            kind = "f2" if "f16" in suffix else "f4"
            file.run(
                f"{name}_{suffix}_kernel<{H // each}>",
                S,
                H // each,
                reals(S, H, dtype=kind),
                output(S, H, dtype=kind),
                *numbers,
                S,
                H,
                oracle=oracle,
                within=1e-5 if kind == "f4" else 1.5e-2,
            )
