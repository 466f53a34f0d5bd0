"""Tests cuda.random.default_rng: its distributions compared with NumPy's, and accepted and rejected
arguments."""

import hashlib
import pickle

import numpy as np
import pytest

from numbalite import cuda

default_rng, Philox4x32 = cuda.random.default_rng, cuda.random.Philox4x32
N = 20_000


def to_host_array(array):
    return array.copy_to_host()


def are_different(x, y):
    """Returns the two-sample Kolmogorov-Smirnov statistic, scaled so that equal distributions
    exceed 1.95 once in 1000 tests."""
    every = np.concatenate([x, y]).astype(np.float64)
    parts = [np.searchsorted(np.sort(z), every, side="right") / z.size for z in (x, y)]
    return np.abs(parts[0] - parts[1]).max() * np.sqrt(x.size * y.size / (x.size + y.size))


# ---- the stream

# Methods whose arithmetic is numbalite's own,
# so that results are equal on every GPU and on the simulator.
SUMS = {
    "float32": "588aeb16d2c80d01 6afbd34be4fab0f9 f7d952b20b3fb23e 97a670b42c26958e".split(),
    "float64": "62368593255fbfe4 c2efd7308709845f ac24058e3a05b64c 869d3d048c8486aa".split(),
    "float16": "1bd03652497a6fd6 5100752b64e00c4b 96a9e05370fc18cf cbe16cd24dfd5e58".split(),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_random_numbers_are_the_same_on_every_device(dtype):
    rng = default_rng(2024)
    made = [
        hashlib.sha256(
            to_host_array(getattr(rng, name)(100_003, dtype=dtype)).tobytes()
        ).hexdigest()[:16]
        for name in ("random", "standard_normal", "standard_exponential", "standard_cauchy")
    ]
    assert made == SUMS[np.dtype(dtype).name]


def test_numbers_depend_on_the_stream_position():
    """Random numbers depend on key and counter, not on the launch: the tail of a longer array equals
    the same part drawn separately."""
    long, part = default_rng(3), default_rng(3)
    for dtype, per_block in ((np.float32, 4), (np.float64, 2)):
        whole = to_host_array(long.random(4001, dtype=dtype))
        part.bit_generator.advance(1000 // per_block)
        assert np.array_equal(to_host_array(part.random(3001, dtype=dtype)), whole[1000:])
    assert part.bit_generator.state == long.bit_generator.state
    whole = to_host_array(long.standard_gamma(0.3, 700))
    part.bit_generator.advance(256 * 500)
    assert np.array_equal(to_host_array(part.standard_gamma(0.3, 200)), whole[500:])


def test_philox_counter_carries_over_128_bits():
    low = Philox4x32(key=5, counter=2**64 - 3)
    expected = [
        to_host_array(default_rng(Philox4x32(key=5, counter=2**64 - 3 + k)).random(2))
        for k in range(6)
    ]
    assert np.array_equal(to_host_array(default_rng(low).random(12)), np.concatenate(expected))
    assert low.state["state"] == {"counter": 2**64 + 3, "key": 5}
    last = Philox4x32(key=1, counter=2**128 - 1)
    default_rng(last).random(4)
    assert last.state["state"]["counter"] == 1


@pytest.mark.parametrize("seed", [None, 0, 2**200 + 1, [1, 2, 3], np.random.SeedSequence(9)])
def test_philox_seeds_match_seed_sequence(seed):
    bits = Philox4x32(seed)
    words = bits.seed_seq.generate_state(2, np.uint64).tolist()
    assert bits.state == {
        "bit_generator": "Philox4x32",
        "state": {"key": words[0], "counter": words[1] << 64},
    }
    rng = default_rng(bits)
    assert rng.bit_generator is bits and default_rng(rng) is rng
    with pytest.raises((TypeError, ValueError)):
        default_rng("seed")


def test_generator_state_pickle_spawn_and_jump_match_numpy():
    rng = default_rng(11)
    rng.random(5)
    again, state = pickle.loads(pickle.dumps(rng)), rng.bit_generator.state
    expected = to_host_array(rng.random(9))
    assert np.array_equal(to_host_array(again.random(9)), expected)
    again.bit_generator.state = state
    assert np.array_equal(to_host_array(again.random(9)), expected)
    children = [*rng.spawn(2), *again.spawn(1)]
    keys = [child.bit_generator.state["state"]["key"] for child in children]
    assert keys[0] != keys[1] and keys[2] == keys[0] != state["state"]["key"]
    jumped = rng.bit_generator.jumped(3).state["state"]
    now = rng.bit_generator.state["state"]
    assert (
        jumped["counter"] == (now["counter"] + 3 * 2**64) % 2**128 and jumped["key"] == now["key"]
    )
    with pytest.raises(TypeError, match="without a seed"):
        default_rng(Philox4x32(key=1)).spawn(1)
    for wrong in (
        3,
        {"bit_generator": "PCG64"},
        {"bit_generator": "Philox4x32", "state": {"key": -1, "counter": 0}},
    ):
        with pytest.raises((TypeError, ValueError), match="Philox4x32"):
            rng.bit_generator.state = wrong
    assert rng.bit_generator.state["state"] == now


def test_random_streams_are_uncorrelated():
    parent = default_rng(1)
    rngs = [parent, *parent.spawn(3), default_rng(parent.bit_generator.jumped()), default_rng(2)]
    rows = np.stack([to_host_array(rng.standard_normal(N)) for rng in rngs])
    rows = np.concatenate([rows, [np.roll(rows[0], k) for k in (1, 2, 3, 4)]])
    outside = np.corrcoef(rows) - np.eye(len(rows))
    assert np.abs(outside).max() < 4.5 / np.sqrt(N)


# ---- distributions

DISTRIBUTIONS = {
    "random": (),
    "uniform": (2.0, 5.0),
    "standard_normal": (),
    "normal": (2.0, 5.0),
    "lognormal": (0.5, 0.7),
    "standard_exponential": (),
    "exponential": (3.0,),
    "laplace": (1.0, 2.0),
    "gumbel": (1.0, 2.0),
    "logistic": (1.0, 2.0),
    "standard_cauchy": (),
    "rayleigh": (2.0,),
    "weibull": (1.5,),
    "pareto": (3.0,),
    "power": (0.3,),
    "triangular": (0.0, 1.0, 4.0),
    "geometric": (0.1,),
    "standard_gamma": (0.3,),
    "gamma": (100.0, 2.0),
    "beta": (0.5, 2.0),
    "chisquare": (3.0,),
    "noncentral_chisquare": (3.0, 2.0),
    "f": (5.0, 7.0),
    "noncentral_f": (5.0, 7.0, 2.0),
    "standard_t": (4.0,),
    "wald": (1.0, 2.0),
    "vonmises": (0.5, 4.0),
    "poisson": (50.0,),
    "binomial": (100, 0.8),
    "negative_binomial": (5.0, 0.3),
    "hypergeometric": (300, 200, 380),
    "zipf": (2.5,),
    "logseries": (0.9,),
}
OTHERS = [
    ("normal", (2.0, 5.0), np.float32),
    ("gumbel", (1.0, 2.0), np.float32),
    ("uniform", (2.0, 5.0), np.float16),
    ("poisson", (3.0,), np.int64),
    ("binomial", (20, 0.3), np.int64),
    ("binomial", (10**6, 0.4), np.int64),
    ("hypergeometric", (20, 30, 8), np.int64),
    ("hypergeometric", (20, 30, 45), np.int64),
    ("hypergeometric", (200, 300, 80), np.int64),
    ("noncentral_chisquare", (0.5, 2.0), np.float64),
    ("vonmises", (0.0, 1e-9), np.float64),
    ("geometric", (1.0,), np.int64),
    ("poisson", (1e7,), np.int64),
]


@pytest.mark.parametrize(
    ("name", "args", "dtype"),
    [*((name, args, None) for name, args in DISTRIBUTIONS.items()), *OTHERS],
    ids=str,
)
def test_distributions_match_numpys_quantiles(name, args, dtype):
    given = {} if dtype in (None, np.int64) else {"dtype": dtype}
    made = getattr(default_rng(42), name)(*args, size=N, **given)
    expected = getattr(np.random.default_rng(42), name)(*args, size=N)
    assert made.dtype == (expected.dtype if dtype is None else dtype)
    assert are_different(to_host_array(made), expected.astype(made.dtype)) < 1.95


def test_samples_are_inside_the_half_open_interval():
    rng = default_rng(5)
    for dtype in (np.float64, np.float32, np.float16):
        x = to_host_array(rng.random(N, dtype=dtype))
        assert x.min() >= 0 and x.max() < 1
        e = to_host_array(rng.standard_exponential(N, dtype=dtype))
        assert e.min() >= 0 and np.isfinite(e).all()
    assert np.unique(to_host_array(rng.random(N, dtype=np.float16))).size > 1900  # of 2048
    assert (to_host_array(rng.normal(3, 0, 5)) == 3).all()
    assert (to_host_array(rng.standard_gamma(0, 5)) == 0).all() and (
        to_host_array(rng.poisson(0, 5)) == 0
    ).all()
    assert (to_host_array(rng.binomial([0, 7, 7], [0.5, 0, 1])) == [0, 0, 7]).all()
    tiny = to_host_array(rng.beta(1e-3, 1e-3, N))
    assert np.isfinite(tiny).all() and abs(tiny.mean() - 0.5) < 0.02


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (0, 6, np.int64),
        (-100, 101, np.int8),
        (0, 2, np.bool_),
        (-(2**63), 2**63, np.int64),
        (0, 3 * 2**30, np.uint32),
        (5, 5 + 3 * 2**62, np.uint64),
        (2**63, 2**63 + 3, np.uint64),
        (0, 2**32, np.uint32),
    ],
    ids=str,
)
def test_integers_are_unbiased(low, high, dtype):
    """For bounds of 3/4 of the word's range, a remainder or a product without rejection would
    clearly be not uniform."""
    x = to_host_array(default_rng(8).integers(low, high, N, dtype=dtype))
    assert x.dtype == dtype
    parts = min(high - low, 6)
    place = [(int(v) - low) * parts // (high - low) for v in x]
    counts = np.bincount(place, minlength=parts)
    assert counts.size == parts and min(place) >= 0
    assert ((counts - N / parts) ** 2 / (N / parts)).sum() < 21  # once in 1000 for 5 degrees
    if high - low > 6:
        odd = sum(int(v) & 1 for v in x)
        assert abs(odd - N * ((high - low) // 2 / (high - low))) < 3.5 * np.sqrt(N / 4)


def test_integers_accept_arrays_of_bounds():
    rng = default_rng(1)
    low, high = np.array([0, 10, -5]), cuda.to_device(np.array([[1], [2**62]]) + 10)
    x = to_host_array(rng.integers(low, high))
    assert x.shape == (2, 3) and (x >= low).all() and (x < to_host_array(high)).all()
    bounds = np.array([[3, 2**64 - 2], [3, 2**64 - 1]], np.uint64)
    x = to_host_array(rng.integers(*bounds, (50, 2), np.uint64, endpoint=True))
    assert (x[:, 0] == 3).all() and set((2**64 - x[:, 1].astype(object)).tolist()) == {1, 2}
    assert rng.integers(np.zeros((0, 3), int), 5).shape == (0, 3)


def test_distribution_parameters_broadcast():
    rng, scale = default_rng(4), cuda.to_device(np.array([[0.0], [1e-9]]))
    x = to_host_array(rng.normal([1, 2, 3], scale))
    assert x.shape == (2, 3) and np.allclose(x, [[1, 2, 3]] * 2) and (x[1] != x[0]).all()
    x = to_host_array(rng.normal([1, 2, 3], 0.0, size=(4, 3), dtype=np.float32))
    assert x.dtype == np.float32 and (x == [1, 2, 3]).all()
    strided = cuda.to_device(np.arange(8.0))[1::2]
    assert np.allclose(to_host_array(rng.uniform(strided, strided)), [1, 3, 5, 7])
    means = to_host_array(rng.poisson(np.array([1, 100, 10000]), (2000, 3))).mean(0)
    assert np.allclose(means, [1, 100, 10000], rtol=0.1)
    assert rng.poisson(np.ones((0, 2))).shape == (0, 2)


# ---- what is filled


def test_generator_methods_accept_size_and_out():
    rng, same = default_rng(6), default_rng(6)
    assert rng.random().shape == () and 0 <= float(rng.random()) < 1
    for size in (0, (3, 0), (), 1, (2, 3, 5), np.int64(3), [2, 2]):
        assert rng.random(size).shape == np.empty(size).shape
    assert isinstance(rng.bytes(7), bytes) and len(rng.bytes(7)) == 7 and rng.bytes(0) == b""
    before = rng.bit_generator.state
    rng.random(0)
    rng.standard_gamma(1, size=0)
    assert rng.bit_generator.state == before
    same.bit_generator.state = before
    expected = to_host_array(rng.random(33, dtype=np.float32))
    memory = cuda.to_device(np.zeros(40, np.float32))
    out = memory[3:36]  # not aligned for vectors
    assert same.random(out=out) is out
    assert np.array_equal(to_host_array(out), expected) and not to_host_array(memory)[36:].any()


def test_draws_on_a_stream_equal_draws_without():
    rng, stream = default_rng(6), cuda.stream()
    x = rng.random(1000, stream=stream)
    y = rng.normal(np.zeros(1000), 1.0, stream=stream)
    stream.synchronize()
    again = default_rng(6)
    assert np.array_equal(to_host_array(x), to_host_array(again.random(1000)))
    assert np.array_equal(to_host_array(y), to_host_array(again.normal(np.zeros(1000), 1.0)))


REFUSED = [
    (lambda r: r.random(-1), ValueError, "random: size must not be negative: -1"),
    (lambda r: r.random((2, "a")), TypeError, "random: size must be an int or a tuple of ints"),
    (lambda r: r.random(2.5), TypeError, "random: size must be an int or a tuple of ints"),
    (lambda r: r.random(3, np.int32), TypeError, "random: dtype must be one of float64"),
    (lambda r: r.random(out=np.zeros(3)), TypeError, "random: out must be a device array, not ndarray"),
    (lambda r: r.random(2, out=cuda.device_array(3)), ValueError, r"random: out has shape \(3,\), size is 2"),
    (lambda r: r.random(out=cuda.device_array(6)[::2]), ValueError, "random: out must be C-contiguous"),
    (lambda r: r.random(dtype="f4", out=cuda.device_array(3)), TypeError, "random: out has dtype float64, not float32"),
    (lambda r: r.random(out=cuda.device_array(3, int)), TypeError, "random: dtype must be one of"),
    (lambda r: r.normal(0, -1), ValueError, "normal: scale must be not negative, not -1"),
    (lambda r: r.normal(0, float("nan")), ValueError, "normal: scale must be not negative, not nan"),
    (lambda r: r.normal("a"), TypeError, "normal: loc must hold real numbers"),
    (lambda r: r.normal(1j), TypeError, "normal: loc must hold real numbers"),
    (lambda r: r.normal(0, [1, -1]), ValueError, "normal: scale must be not negative, not -1"),
    (lambda r: r.normal(0, cuda.to_device(np.array([1, np.nan]))), ValueError, "normal: scale .* not nan"),
    (lambda r: r.normal([1, 2], [1, 2, 3]), ValueError, "normal: .*broadcast"),
    (lambda r: r.normal([1, 2], size=3), ValueError, r"normal: size 3 does not fit parameters .* shape \(2,\)"),
    (lambda r: r.uniform(1, 0), ValueError, "uniform: high - low must be not negative"),
    (lambda r: r.uniform(-1e308, 1e308), OverflowError, "uniform: high - low is infinite"),
    (lambda r: r.uniform(0, float("inf")), OverflowError, "uniform: high - low is infinite"),
    (lambda r: r.binomial(5, 1.5), ValueError, "binomial: p must be from 0 to 1, not 1.5"),
    (lambda r: r.binomial(5.5, 0.5), TypeError, "binomial: n must be an integer or an array, not float"),
    (lambda r: r.binomial([5.5], 0.5), TypeError, "binomial: n must hold integers, not float64"),
    (lambda r: r.geometric(0), ValueError, "geometric: p must be above 0 and at most 1"),
    (lambda r: r.poisson(1e19), ValueError, "poisson: lam must be from 0 to"),
    (lambda r: r.triangular(0, 2, 1), ValueError, "triangular: mode must be from left to right"),
    (lambda r: r.triangular(1, 1, 1), ValueError, "triangular: left must be below right"),
    (lambda r: r.hypergeometric(1, 2, 4), ValueError, "hypergeometric: nsample must be at most"),
    (lambda r: r.integers(3, 3), ValueError, "integers: low must be below high: 3, 3"),
    (lambda r: r.integers(3, 2, endpoint=True), ValueError, "integers: low must be at most high: 3, 2"),
    (lambda r: r.integers(300, dtype=np.int8), ValueError, "integers: high is out of bounds for int8: 300"),
    (lambda r: r.integers(-1, 5, dtype=np.uint8), ValueError, "integers: low is out of bounds for uint8: -1"),
    (lambda r: r.integers(5, dtype=np.float32), TypeError, "integers: dtype must be an integer type"),
    (lambda r: r.integers(5.0), TypeError, "integers: high must be an integer or an array, not float"),
    (lambda r: r.integers([0.5], 3), TypeError, "integers: low must hold integers"),
    (lambda r: r.integers([0, 5], 5), ValueError, "integers: low must be below high: 5, 5"),
    (lambda r: r.choice(0, 1), ValueError, "choice: a must have elements to choose from"),
    (lambda r: r.choice(3, 4, replace=False), ValueError, "choice: size 4 is more than the 3 items"),
    (lambda r: r.choice(3, p=[0.5, 0.5]), ValueError, r"choice: p must have shape \(3,\)"),
    (lambda r: r.choice(2, p=[0.5, 0.6]), ValueError, "choice: p must add up to 1, not to 1.1"),
    (lambda r: r.choice(2, p=[-0.5, 1.5]), ValueError, "choice: p must not contain negative numbers"),
    (lambda r: r.choice(3, 3, False, [0.5, 0.5, 0]), ValueError, "choice: p allows only 2 items, 3 are wanted"),
    (lambda r: r.permutation(-1), ValueError, "permutation: x must not be negative: -1"),
    (lambda r: r.permutation(2.5), TypeError, "permutation: x must be an int or an array"),
    (lambda r: r.shuffle([1, 2]), TypeError, "shuffle: x must be a device array, not list"),
    (lambda r: r.permuted(cuda.device_array(3), axis=1), ValueError, "permuted: axis 1 is out of bounds"),
    (lambda r: r.permuted(cuda.device_array(3), out=cuda.device_array(4)), ValueError, "permuted: out has shape"),
]  # fmt: skip


def test_invalid_arguments_raise_and_do_not_advance_the_stream():
    rng = default_rng(1)
    before = rng.bit_generator.state
    for call, kind, words in REFUSED:
        with pytest.raises(kind, match=words):
            call(rng)
    assert rng.bit_generator.state == before
    for wrong in (
        lambda: Philox4x32(1, key=2),
        lambda: Philox4x32(key=2**64),
        lambda: Philox4x32(key="a"),
    ):
        with pytest.raises((TypeError, ValueError), match="Philox4x32: "):
            wrong()
    with pytest.raises(TypeError, match="Generator: bit_generator must be a Philox4x32"):
        cuda.random.Generator(np.random.PCG64())


def test_graph_launches_repeat_random_numbers():
    """A graph repeats its random numbers, as documented: the capture contains the position in the random
    stream."""
    rng, stream = default_rng(1), cuda.stream()
    out = cuda.device_array(100)
    rng.random(out=out)
    with stream.capture() as graph:
        rng.random(out=out, stream=stream)
    results = []
    for _ in range(2):
        graph.launch(stream)
        stream.synchronize()
        results.append(to_host_array(out))
    assert np.array_equal(*results)
    expected = default_rng(1)
    expected.random(100)
    assert np.array_equal(results[0], to_host_array(expected.random(100)))
