"""Describes kernels of karpathy/llm.c, dev/cuda: the layers of GPT-2 and their gradients, in float
and bfloat16."""

import math

import numpy as np

from described import ArraySpec, constant, describe_file, inout, integers, output, reals

HOME = "karpathy+llm.c/dev/cuda"
B, T, C = 2, 24, 128
ROWS = B * T
HEADS, SIZE = 4, 32


BF = "bf16"
OF_BF = 2e-2


def _f64(x):
    return x.astype("f8")


with describe_file(f"{HOME}/residual_forward.cu") as file:
    for kernel, each in ("residual_forward_kernel1", 1), ("residual_forward_kernel2", 8):
        small = integers(1536, low=-60, high=61, dtype=BF)
        file.run(
            kernel,
            -(-1536 // each // 128),
            128,
            output(1536, dtype=BF),
            small,
            small,
            1536,
            oracle=lambda a, b, n: a + b,
        )


def _gelu(x, n=0):
    x = _f64(x)
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _gelu_gradient(x, d, n):
    x, h = _f64(x), 1e-5
    return (_gelu(x + h) - _gelu(x - h)) / (2 * h) * d


for kind, oracle, arrays in ("forward", _gelu, 1), ("backward", _gelu_gradient, 2):
    with describe_file(f"{HOME}/gelu_{kind}.cu") as file:
        for number, each in (1, 1), (2, 8):
            name = f"gelu_forward_kernel{number}" if kind == "forward" else f"gelu_backward{number}"
            file.run(
                name,
                1024 // each // 128,
                128,
                output(1024, dtype=BF),
                *[reals(1024, dtype=BF)] * arrays,
                1024,
                oracle=oracle,
                within=OF_BF,
            )

TOKENS = integers(B, T, low=0, high=60, dtype="i4")
with describe_file(f"{HOME}/encoder_forward.cu") as file:
    small = {"low": -60, "high": 61, "dtype": BF}
    for number, threads in (1, ROWS), (2, ROWS * C), (3, ROWS * C // 8):
        file.run(
            f"encoder_forward_kernel{number}",
            -(-threads // 128),
            128,
            output(B, T, C, dtype=BF),
            TOKENS,
            integers(60, C, **small),
            integers(T, C, **small),
            B,
            T,
            C,
            oracle=lambda i, e, p, *n: e[i] + p,
        )


def _scatter(d, tokens, *n):
    embedding = np.zeros((60, C))
    np.add.at(embedding, tokens.reshape(-1), _f64(d).reshape(-1, C))
    return embedding, _f64(d).sum(0)


with describe_file(f"{HOME}/encoder_backward.cu") as file:
    for number, threads in (1, ROWS * C), (2, C):
        file.run(
            f"encoder_backward_kernel{number}",
            threads // 64,
            64,
            output(60, C),
            output(T, C),
            integers(B, T, C),
            TOKENS,
            B,
            T,
            C,
            oracle=_scatter,
        )

V = 50
with describe_file(f"{HOME}/crossentropy_forward.cu") as file:
    file.run(
        "crossentropy_forward_kernel1",
        1,
        64,
        output(ROWS),
        reals(ROWS, V, low=0.01, high=1),
        integers(ROWS, low=0, high=V, dtype="i4"),
        B,
        T,
        V,
        oracle=lambda p, t, *n: -np.log(_f64(p)[np.arange(ROWS), t]),
        within=1e-6,
    )

with describe_file(f"{HOME}/crossentropy_softmax_backward.cu") as file:
    file.run(
        "crossentropy_softmax_backward_kernel1",
        -(-ROWS * V // 128),
        128,
        output(ROWS, V),
        reals(ROWS),
        reals(ROWS, V, low=0, high=1),
        integers(ROWS, low=0, high=V, dtype="i4"),
        B,
        T,
        V,
        oracle=lambda d, p, t, *n: (p - np.eye(V)[t]) * d[:, None],
        within=1e-6,
    )


def _adamw_step(p, g, m, v, n, rate, b1, b2, c1, c2, eps, decay):
    p, g, m, v = map(_f64, (p, g, m, v))
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    return p - rate * (m / c1 / (np.sqrt(v / c2) + eps) + decay * p), m, v


with describe_file(f"{HOME}/adamw.cu") as file:
    for number in 1, 2:
        file.run(
            f"adamw_kernel{number}",
            4,
            128,
            inout(reals(500)),
            reals(500),
            inout(reals(500)),
            inout(reals(500, low=0)),
            500,
            1e-3,
            0.9,
            0.999,
            0.1,
            0.001,
            1e-8,
            0.01,
            oracle=_adamw_step,
            within=2e-6,
        )


def _normalize(x, weight, bias, *n):
    x = _f64(x)
    mean, rstd = x.mean(-1), 1 / np.sqrt(x.var(-1) + 1e-5)
    return (x - mean[:, None]) * rstd[:, None] * weight + bias, mean, rstd


NORM = output(ROWS, C), output(ROWS), output(ROWS), reals(ROWS, C), reals(C), reals(C), ROWS, C
with describe_file(f"{HOME}/layernorm_forward.cu") as file:
    file.run("layernorm_forward_kernel1", 1, 64, *NORM, oracle=_normalize, within=1e-5)
    file.run(
        "mean_kernel",
        ROWS,
        64,
        output(ROWS),
        reals(ROWS, C),
        ROWS,
        C,
        64,
        shared=256,
        oracle=lambda x, *n: _f64(x).mean(-1),
        within=1e-6,
    )
    file.run(
        "rstd_kernel",
        ROWS,
        64,
        output(ROWS),
        reals(ROWS, C),
        constant(np.zeros(ROWS)),
        ROWS,
        C,
        64,
        shared=256,
        oracle=lambda x, m, *n: 1 / np.sqrt((_f64(x) ** 2).mean(-1) + 1e-5),
        within=1e-6,
    )
    file.run(
        "normalization_kernel",
        ROWS,
        C,
        output(ROWS, C),
        reals(ROWS, C),
        reals(ROWS),
        reals(ROWS),
        reals(C),
        reals(C),
        B,
        T,
        C,
        oracle=lambda x, m, s, w, b, *n: _f64(s)[:, None] * (x - m[:, None]) * w + b,
        within=2e-6,
    )
    for number in 3, 4:
        file.run(
            f"layernorm_forward_kernel{number}",
            ROWS // 4,
            128,
            *NORM,
            oracle=_normalize,
            within=1e-5,
        )
    file.run("layernorm_forward_kernel5", ROWS, 64, *NORM, oracle=_normalize, within=1e-5)
    file.run(
        "layernorm_forward_kernel6",
        ROWS // 4,
        (32, 4),
        *NORM,
        shared=6 * C * 4,
        oracle=_normalize,
        within=1e-5,
    )


def _residual_norm(a, b, weight, bias, *n):
    x = _f64(a) + b
    return (x, *_normalize(x, weight, bias))


def _bf16(*shape):
    return reals(*shape, dtype=BF)


def _to_bf(*shape):
    return output(*shape, dtype=BF)


NORM_BF = _to_bf(ROWS, C), _to_bf(ROWS), _to_bf(ROWS), _bf16(ROWS, C), _bf16(C), _bf16(C), ROWS, C
WIDE = 256
FUSED = (
    _to_bf(ROWS, WIDE),
    _to_bf(ROWS, WIDE),
    _to_bf(ROWS),
    _to_bf(ROWS),
    _bf16(ROWS, WIDE),
    _bf16(ROWS, WIDE),
    _bf16(WIDE),
    _bf16(WIDE),
    ROWS,
    WIDE,
)
with describe_file(f"{HOME}/fused_residual_forward.cu") as file:
    file.run(
        "residual_forward_kernel1",
        ROWS,
        C,
        _to_bf(ROWS * C),
        _bf16(ROWS * C),
        _bf16(ROWS * C),
        ROWS * C,
        oracle=lambda a, b, n: a + b,
        within=OF_BF,
    )
    file.run("layernorm_forward_kernel1", 1, 64, *NORM_BF, oracle=_normalize, within=OF_BF)
    file.run("fused_residual_forward2", ROWS // 16, 16, *FUSED, oracle=_residual_norm, within=OF_BF)
    file.run(
        "fused_residual_forward3", ROWS // 4, (32, 4), *FUSED, oracle=_residual_norm, within=OF_BF
    )
    file.run(
        "fused_residual_forward_kernel4",
        ROWS // 4,
        (32, 4),
        *FUSED,
        oracle=_residual_norm,
        within=OF_BF,
    )
    file.run(
        "fused_residual_forward_kernel5",
        ROWS // 4,
        (32, 4),
        *FUSED,
        shared=6 * WIDE * 2,
        oracle=_residual_norm,
        within=OF_BF,
    )
    file.run(
        "fused_residual_forward_kernel6",
        4,
        (32, 1, 4),
        *FUSED,
        shared=6 * WIDE * 2 + 64 * 4 * 4,
        oracle=_residual_norm,
        within=OF_BF,
    )


def _norm_gradient(d, x, weight, mean, rstd, *n):
    d, x = _f64(d), (_f64(x) - mean[:, None]) * rstd[:, None]
    g = d * weight
    gradient = (g - g.mean(-1, keepdims=True) - x * (g * x).mean(-1, keepdims=True)) * rstd[:, None]
    return gradient, (d * x).sum(0), d.sum(0)


def _with_scratch(*arrays):
    return (*_norm_gradient(*arrays), None)


GIVEN = reals(ROWS, C), reals(ROWS, C), reals(C), reals(ROWS), reals(ROWS), B, T, C
GRADIENTS = output(ROWS, C), output(C), output(C)
NO_FENCE = {
    "finds": "with nothing that orders the blocks",
    "because": "no __threadfence() between a block's partial sums and the atomic that counts the block",
}
GIVEN_BF = _bf16(ROWS, WIDE), _bf16(ROWS, WIDE), _bf16(WIDE), _bf16(ROWS), _bf16(ROWS), B, T, WIDE
GRADIENTS_BF = _to_bf(ROWS, WIDE), _to_bf(WIDE), _to_bf(WIDE)
FLOATS = "<float, float, float, float>"
with describe_file(f"{HOME}/layernorm_backward.cu") as file:
    file.run(
        "layernorm_backward_kernel1", 1, 64, *GRADIENTS, *GIVEN, oracle=_norm_gradient, within=2e-5
    )
    file.run(
        f"layernorm_backward_kernel2{FLOATS}",
        ROWS // 4,
        128,
        *GRADIENTS,
        *GIVEN,
        output(C),
        output(C),
        shared=2 * C * 4,
        oracle=lambda *a: (_norm_gradient(*a)[0], None, None, *_norm_gradient(*a)[1:]),
        within=2e-5,
    )
    file.run(
        "copy_to_dweight_dbias<float>",
        1,
        64,
        C,
        output(C),
        output(C),
        reals(C),
        reals(C),
        oracle=lambda n, b, w: (b, w),
    )
    file.run(
        f"layernorm_backward_kernel3{FLOATS}",
        3,
        128,
        *GRADIENTS,
        *GIVEN,
        shared=2 * C * 4,
        oracle=_norm_gradient,
        within=2e-5,
    )
    file.run(
        f"layernorm_backward_kernel4{FLOATS.replace('float', '__nv_bfloat16')}",
        3,
        128,
        *GRADIENTS_BF,
        *GIVEN_BF,
        shared=2 * WIDE * 4,
        oracle=_norm_gradient,
        within=8e-2,
    )
    for number in 5, 6:
        file.run(
            f"layernorm_backward_kernel{number}{FLOATS}",
            3,
            128,
            *GRADIENTS,
            output(3 * 2 * C + 1),
            *GIVEN,
            shared=(2 * C + 1) * 4,
            oracle=_with_scratch,
            within=2e-5,
        )
    for number in 7, 8:
        file.run(
            f"layernorm_backward_kernel{number}",
            3,
            128,
            *GRADIENTS_BF,
            output(3 * 2 * WIDE + 1),
            *GIVEN_BF,
            shared=(2 * WIDE + 1) * 4,
            oracle=_with_scratch,
            within=4e-2,
        )
    file.run(
        "layernorm_backward_kernel9",
        3,
        128,
        *GRADIENTS_BF,
        output(3 * 2 * WIDE + 64),
        *GIVEN_BF,
        shared=(2 * WIDE + 256 + 1) * 4,
        oracle=_with_scratch,
        within=4e-2,
        **NO_FENCE,
    )
    file.run(
        "layernorm_backward_kernel10",
        3,
        128,
        *GRADIENTS_BF,
        output(3 * 2 * WIDE + 64),
        *GIVEN_BF,
        shared=(2 * WIDE + 2 * 96 * 4) * 4,
        oracle=_with_scratch,
        within=4e-2,
        **NO_FENCE,
    )


def _softmax(x, *n):
    e = np.exp(_f64(x) - _f64(x).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


ROW = 160
SOFT = output(20, ROW), reals(20, ROW, low=-8, high=8), 20, ROW
with describe_file(f"{HOME}/softmax_forward.cu") as file:
    file.run("softmax_forward_kernel1", 1, 32, *SOFT, oracle=_softmax, within=1e-6)
    file.run("softmax_forward_kernel2", 20, 64, *SOFT, shared=256, oracle=_softmax, within=1e-6)
    file.run("softmax_forward_kernel3", 20, 32, *SOFT, shared=256, oracle=_softmax, within=1e-6)
    file.run(
        "softmax_forward_kernel4",
        20,
        64,
        *SOFT,
        shared=256,
        within=1e-6,
        finds="line 268, with no barrier between",
        because="a warp stores its sum in the memory from which another still reads the maximum",
    )
    file.run(
        "softmax_forward_kernel7",
        20,
        64,
        *SOFT,
        shared=256,
        oracle=_softmax,
        within=1e-6,
        finds="reads out[159]",
        because="threads beyond the row read its last element, which another writes; what they read is not used",
    )
    file.run("softmax_forward_online_kernel1", 1, 32, *SOFT, oracle=_softmax, within=1e-6)
    file.run("softmax_forward_online_kernel2", 5, 128, *SOFT, oracle=_softmax, within=1e-6)
    file.run("softmax_forward_online_kernel8", 5, 128, *SOFT, oracle=_softmax, within=1e-6)


def _attend(x):
    """Returns q, k and v of an array (B, T, 3, heads, size), and the causal scores and weights."""
    q, k, v = np.moveaxis(_f64(x).reshape(B, T, 3, HEADS, SIZE), (2, 3), (0, 2))
    scores = np.where(np.tri(T, dtype=bool), q @ k.swapaxes(-1, -2) / math.sqrt(SIZE), -np.inf)
    return q, k, v, scores, _softmax(scores)


QKV = reals(B, T, 3 * C)
SCORES = reals(B, HEADS, T, T)
COUNT = B * HEADS * T
MASKED = np.tri(T, dtype=bool)


def _mask_future_scores(x, other=0):
    return np.where(np.tri(x.shape[-1], dtype=bool), _f64(x), other)


def _softmax_weights(preatt, *n):
    return _softmax(_mask_future_scores(preatt, -np.inf))


def _attention_results(x, *n):
    return _attend(x)[:3]


def _merge_heads(x, *n):
    return x.reshape(B, HEADS, T, SIZE).swapaxes(1, 2)


def _split_gradient(q, k, v, *n):
    return np.stack([g.reshape(B, HEADS, T, SIZE).swapaxes(1, 2) for g in (q, k, v)], 2)


HEAD = B * HEADS * T * SIZE
with describe_file(f"{HOME}/attention_forward.cu") as file:
    file.run(
        "attention_query_key_kernel1",
        -(-COUNT * T // 128),
        128,
        output(B, HEADS, T, T),
        QKV,
        B,
        T,
        C,
        HEADS,
        oracle=lambda x, *n: _attend(x)[3],
        within=2e-6,
    )
    file.run(
        "attention_softmax_kernel1",
        -(-COUNT // 64),
        64,
        output(B, HEADS, T, T),
        SCORES,
        B,
        T,
        HEADS,
        oracle=_softmax_weights,
        within=1e-6,
    )
    file.run("softmax_forward_kernel4", 20, 64, *SOFT, shared=512, oracle=_softmax, within=1e-6)
    file.run(
        "softmax_forward_kernel5",
        COUNT // 4,
        128,
        output(B, HEADS, T, T),
        0.7,
        SCORES,
        B * HEADS,
        T,
        oracle=lambda t, x, *n: _softmax_weights(_f64(x) * np.float32(0.7)),
        within=1e-6,
    )
    file.run(
        "attention_value_kernel1",
        -(-COUNT // 64),
        64,
        output(B, T, C),
        reals(B, HEADS, T, T),
        QKV,
        B,
        T,
        C,
        HEADS,
        oracle=lambda a, x, *n: (_mask_future_scores(a) @ _attend(x)[2]).swapaxes(1, 2),
        within=1e-5,
    )
    file.run(
        "permute_kernel",
        HEAD // 128,
        128,
        *[output(B, HEADS, T, SIZE)] * 3,
        QKV,
        B,
        T,
        HEADS,
        SIZE,
        oracle=_attention_results,
    )
    file.run(
        "unpermute_kernel",
        HEAD // 128,
        128,
        reals(B, HEADS, T, SIZE),
        output(B, T, C),
        B,
        T,
        HEADS,
        SIZE,
        oracle=_merge_heads,
    )
    file.run(
        "scale_kernel",
        -(-COUNT * T // 128),
        128,
        inout(SCORES),
        0.5,
        B,
        HEADS,
        T,
        oracle=lambda x, *n: _mask_future_scores(x * 0.5, -np.inf),
    )
    file.run(
        "attention_forward_fused1",
        (T // 4, HEADS, B),
        128,
        output(B, T, C),
        output(B, HEADS, T, T),
        output(B, HEADS, T, T),
        QKV,
        B,
        T,
        C,
        HEADS,
        finds="with no __syncwarp() between",
        because="lanes read the scores that lane 0 wrote, and later the weights of all lanes, without __syncwarp()",
        within=1e-5,
    )


def _softmax_gradient(d, a, *n):
    d, a = _mask_future_scores(d), _mask_future_scores(a)
    return a * (d - (a * d).sum(-1, keepdims=True)) / math.sqrt(SIZE)


BACK = (
    output(B, HEADS, T, T),
    reals(B, HEADS, T, T),
    reals(B, HEADS, T, T, low=0, high=1),
    B,
    T,
    C,
    HEADS,
)
L = B, HEADS, 64, 64  # a kernel that wants whole blocks
CAUSAL = ArraySpec(lambda rng: np.tri(64) * rng.uniform(0, 1, L), "f4")
LONG = output(*L), reals(*L), CAUSAL, B, 64, C, HEADS
with describe_file(f"{HOME}/attention_backward.cu") as file:
    file.run(
        "permute_kernel",
        HEAD // 128,
        128,
        *[output(B, HEADS, T, SIZE)] * 3,
        QKV,
        B,
        T,
        HEADS,
        SIZE,
        oracle=_attention_results,
    )
    file.run(
        "permute_kernel_backward",
        HEAD // 128,
        128,
        output(B, T, 3 * C),
        *[reals(B, HEADS, T, SIZE)] * 3,
        B,
        T,
        HEADS,
        SIZE,
        oracle=_split_gradient,
    )
    file.run(
        "unpermute_kernel",
        HEAD // 128,
        128,
        reals(B, HEADS, T, SIZE),
        output(B, T, C),
        B,
        T,
        HEADS,
        SIZE,
        oracle=_merge_heads,
    )
    file.run(
        "unpermute_kernel_backward",
        HEAD // 128,
        128,
        output(B, HEADS, T, SIZE),
        reals(B, T, C),
        B,
        T,
        HEADS,
        SIZE,
        oracle=lambda d, *n: d.reshape(B, T, HEADS, SIZE).swapaxes(1, 2),
    )
    file.run(
        "softmax_forward_kernel5",
        COUNT // 4,
        128,
        output(B, HEADS, T, T),
        0.7,
        SCORES,
        B * HEADS,
        T,
        oracle=lambda t, x, *n: _softmax_weights(_f64(x) * np.float32(0.7)),
        within=1e-6,
    )
    file.run(
        "softmax_autoregressive_backward_kernel1",
        1,
        32,
        *BACK,
        oracle=_softmax_gradient,
        within=1e-5,
    )
    file.run(
        "softmax_autoregressive_backward_kernel2",
        (1, B * HEADS),
        32,
        *BACK,
        oracle=_softmax_gradient,
        within=1e-5,
    )
    file.run(
        "softmax_autoregressive_backward_kernel3",
        (T // 4, B * HEADS),
        128,
        *BACK,
        oracle=_softmax_gradient,
        within=1e-5,
    )
    file.run(
        "softmax_autoregressive_backward_kernel4",
        (1, B * HEADS),
        128,
        *BACK,
        oracle=_softmax_gradient,
        within=1e-5,
    )
    file.run(
        "softmax_autoregressive_backward_kernel5",
        (1, B * HEADS),
        128,
        *BACK,
        oracle=_softmax_gradient,
        within=1e-5,
    )
    file.run(
        "softmax_autoregressive_backward_kernel6<32>",
        (64, B * HEADS),
        32,
        *LONG,
        oracle=_softmax_gradient,
        within=1e-5,
    )
    for number, grid in (7, T), (8, T // 4):
        said = (
            {
                "finds": "block_acc",
                "because": "a warp stores the next row's sum while others still read",
            }
            if number == 8
            else {}
        )
        file.run(
            f"softmax_autoregressive_backward_kernel{number}<64>",
            (grid, B * HEADS),
            64,
            *BACK[:-1],
            float(1 / math.sqrt(SIZE)),
            oracle=None if said else _softmax_gradient,
            within=1e-5,
            **said,
        )

with describe_file(f"{HOME}/permute.cu") as file:
    file.run(
        "permute_kernel",
        14,
        128,
        reals(5, 6, 7, 8),
        output(8, 7, 5, 6),
        5,
        6,
        7,
        8,
        oracle=lambda x, *n: x.transpose(3, 2, 0, 1),
    )

M, K, OC = 128, 64, 128
with describe_file(f"{HOME}/matmul_forward.cu") as file:
    file.run(
        "matmul_forward_kernel1",
        (8, 8),
        (16, 16),
        output(M, OC),
        integers(M, K),
        integers(OC, K),
        integers(OC),
        M,
        K,
        OC,
        oracle=lambda x, w, b, *n: _f64(x) @ w.T + b,
    )
    file.run(
        "add_bias",
        3,
        128,
        inout(integers(B, T, OC)),
        integers(OC),
        B,
        T,
        OC,
        oracle=lambda x, b, *n: x + b,
    )
    file.run(
        "matmul_forward_kernel4",
        (1, 1),
        (16, 16),
        output(M, OC),
        integers(M, K),
        integers(OC, K),
        integers(OC),
        K,
        OC,
        oracle=lambda x, w, b, *n: _f64(x) @ w.T + b,
    )

with describe_file(f"{HOME}/matmul_backward.cu") as file:
    file.run(
        "matmul_backward_bias_kernel_naive",
        1,
        OC,
        output(OC),
        integers(B, T, OC),
        B,
        T,
        OC,
        oracle=lambda d, *n: _f64(d).sum((0, 1)),
    )
    file.run(
        "matmul_backward_bias_kernel_faster",
        OC,
        64,
        output(OC),
        integers(B, T, OC),
        B,
        T,
        OC,
        shared=64 * 8,
        oracle=lambda d, *n: _f64(d).sum((0, 1)),
    )


def _accumulate_bias(bias, d, *n):
    return bias + _f64(d).sum((0, 1))


BIAS = (
    inout(integers(OC, low=-1, high=2, dtype=BF)),
    integers(B, T, OC, low=-1, high=2, dtype=BF),
    B,
    T,
    OC,
)
with describe_file(f"{HOME}/matmul_backward_bias.cu") as file:
    file.run("matmul_backward_bias_kernel1", OC, 64, *BIAS, shared=256, oracle=_accumulate_bias)
    file.run("matmul_backward_bias_kernel2", OC // 4, 128, *BIAS, oracle=_accumulate_bias)
    file.run("matmul_backward_bias_kernel3", OC, 64, *BIAS, oracle=_accumulate_bias)
    file.run(
        "matmul_backward_bias_kernel4", OC // 32, 128, *BIAS, shared=512, oracle=_accumulate_bias
    )
    file.run(
        "matmul_backward_bias_kernel7",
        (1, 2),
        (32, 8),
        output(OC),
        *BIAS[1:],
        256,
        shared=256 * 4,
        oracle=lambda d, *n: _f64(d).sum((0, 1)),
    )
    file.run("cast_and_add_kernel", 2, 64, BIAS[0], integers(OC), OC, oracle=lambda a, b, n: a + b)
    file.run(
        "reduce_add_sum_kernel",
        1,
        32,
        BIAS[0],
        integers(5, OC),
        OC,
        5,
        oracle=lambda a, b, n, m: a + b.sum(0),
    )

with describe_file(f"{HOME}/global_norm.cu") as file:
    for number in 1, 2, 3:
        file.run(
            f"norm_kernel{number}<float>",
            3,
            128,
            output(1),
            integers(1000),
            1000,
            oracle=lambda x, n: (_f64(x) ** 2).sum(),
        )
    file.run(
        "norm_kernel4<float>",
        3,
        128,
        output(3),
        integers(1000),
        1000,
        oracle=lambda x, n: np.bincount(np.arange(1000) % 384 // 128, _f64(x) ** 2),
    )
    file.run(
        "global_norm_aggregate_kernel",
        1,
        64,
        inout(integers(40)),
        40,
        oracle=lambda x, n: np.concatenate([[x.sum()], x[1:]]),
    )
