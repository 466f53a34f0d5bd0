"""Measures benchmark rows of functions that call CUDA's libraries: transforms, matrix products,
sparse products, random numbers.

The floor is the library's own function, called repeatedly in C (words.c) with an existing plan,
handle and descriptors: numbalite's time also includes finding the plan or handle, and allocating
the result.
Each row waits for the device at the end, inside the clock.
"""

import ctypes
import functools

import numpy as np
from measure import SMALL, close, make_call_measure, make_loop_measure, median_in_turn, register_row

NEW = 0.6  # microseconds of a new array: a little more than row M1


class CLibrary:
    """A CUDA library that is called through ctypes, for setup and for the floor."""

    def __init__(self, name):
        from numbalite.runtime.libraries import table

        self.functions = ctypes.CDLL(getattr(table, name).path())

    def __call__(self, name, *args):
        words = [ctypes.c_uint64(a) if isinstance(a, int) else a for a in args]
        status = self.functions[name](*words)
        assert status == 0, f"{name}: status {status}"

    def create_handle(self, name, *args, kind=ctypes.c_void_p):
        number = kind()
        self(name, ctypes.byref(number), *args)
        return number.value

    def function_address(self, name):
        return ctypes.cast(self.functions[name], ctypes.c_void_p)


@functools.cache
def words_c(floor):
    library = ctypes.CDLL(floor.compile_c("words.c", "words.so", "-shared", "-fPIC"))
    library.time_words.restype = ctypes.c_double
    return library


def repeated_library_call(floor, make):
    """Returns a function that measures a given number of calls of a library's function. make() returns
    (library, name of the function, its arguments as 64-bit integers)."""
    if SMALL:
        return lambda count: 1.0
    library, name, words = make()
    words = (ctypes.c_uint64 * 14)(*(w % 2**64 for w in words))
    wait = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuCtxSynchronize, ctypes.c_void_p)
    function, time_words = library.function_address(name), words_c(floor).time_words

    def time_per_call(count):
        taken = time_words(function, words, wait, ctypes.c_long(count))
        assert taken >= 0, name
        return taken

    return time_per_call


def complex_numbers(*shape):
    from numbalite import cuda

    random = np.random.default_rng(1)
    host = random.standard_normal(shape) + 1j * random.standard_normal(shape)
    return host.astype("F"), cuda.to_device(host.astype("F"))


def exec_c2c(d, out, *lengths):
    """Calls cuFFT with a plan without batches."""
    library = CLibrary("CUFFT")
    make = f"cufftPlan{len(lengths)}d"
    plan = library.create_handle(
        make, *lengths, 0x29, *[1] * (len(lengths) == 1), kind=ctypes.c_int
    )
    return library, "cufftExecC2C", [plan, d.function_address, out.function_address, -1]


@register_row("F1", "np.fft.fft of 1024 complex64", "us", "cuFFT's call + 1 + an array", gpu=True)
def fft(floor):
    from numbalite import cuda

    host, d = complex_numbers(1024)
    close(np.fft.fft(d).copy_to_host(), np.fft.fft(host), 1e-3)
    out = cuda.device_array_like(d)
    ours = make_loop_measure("fft(d)", {"fft": np.fft.fft, "d": d}, cuda.synchronize)
    ours, least = median_in_turn(
        ours, repeated_library_call(floor, lambda: exec_c2c(d, out, 1024)), count=1000
    )
    return ours, least, least + 1 + NEW


@register_row(
    "F2", "np.fft.fft2 of 512 x 512 complex64", "us", "1.05 x cuFFT's call, or + 1", gpu=True
)
def fft2(floor):
    from numbalite import cuda

    n = 16 if SMALL else 512
    host, d = complex_numbers(n, n)
    want = np.fft.fft2(host)
    np.testing.assert_allclose(np.fft.fft2(d).copy_to_host(), want, atol=1e-3 * abs(want).max())
    out = cuda.device_array_like(d)
    ours = make_loop_measure("fft(d)", {"fft": np.fft.fft2, "d": d}, cuda.synchronize)
    ours, least = median_in_turn(
        ours, repeated_library_call(floor, lambda: exec_c2c(d, out, n, n)), count=300
    )
    return ours, least, max(1.05 * least, least + 1 + NEW)


def product(floor, n):
    from numbalite import cuda

    host = np.random.default_rng(2).random((n, n), np.float32)
    a, out = cuda.to_device(host), cuda.device_array((n, n), np.float32)
    cuda.matmul(a, a, out=out)
    close(out.copy_to_host(), host @ host, 1e-4)

    def sgemm():
        library = CLibrary("CUBLAS")
        one, zero = (np.array([x], "f") for x in (1, 0))
        sgemm.kept = one, zero
        x = a.function_address
        words = [
            library.create_handle("cublasCreate_v2"), 0, 0, n, n, n, one.ctypes.data, x, n, x, n,
            zero.ctypes.data, out.function_address, n,
        ]  # fmt: skip
        return library, "cublasSgemm_v2", words

    # np.matmul uses NumPy's dispatch, which alone takes a microsecond.
    ours = make_loop_measure(
        "matmul(a, a, out=out)", {"matmul": cuda.matmul, "a": a, "out": out}, cuda.synchronize
    )
    return median_in_turn(ours, repeated_library_call(floor, sgemm), count=1000 if n < 100 else 300)


@register_row("G3", "cuda.matmul of 64 x 64 float32, out=", "us", "cuBLAS's call + 1", gpu=True)
def small_product(floor):
    ours, least = product(floor, 64)
    return ours, least, least + 1


@register_row(
    "G4", "cuda.matmul of 512 x 512 float32, out=", "us", "1.05 x cuBLAS's call, or + 1", gpu=True
)
def product_512(floor):
    ours, least = product(floor, 32 if SMALL else 512)
    return ours, least, max(1.05 * least, least + 1)


SPARSE = 100 if SMALL else 10_000


def sparse_parts():
    """Returns (data, indices, indptr) of ten elements in each row."""
    random = np.random.default_rng(3)
    indices = np.sort(random.integers(0, SPARSE // 10, (SPARSE, 10)) + np.arange(10) * SPARSE // 10)
    data = random.random(10 * SPARSE, np.float32)
    return data, indices.ravel().astype("i4"), np.arange(0, 10 * SPARSE + 1, 10, dtype="i4")


def times_vector(parts, x):
    data, indices, _ = parts
    return (data * x[indices]).reshape(-1, 10).sum(1)


@register_row("V1", "csr array @ vector, 1e4 rows of 10 float32", "us", "cuSPARSE's call + 1 + an array", gpu=True)  # fmt: skip
def sparse_product(floor):
    from numbalite import cuda
    from numbalite.cuda import sparse

    parts, x = sparse_parts(), np.random.default_rng(4).random(SPARSE, np.float32)
    s, d, y = sparse.csr_array(parts, (SPARSE, SPARSE)), cuda.to_device(x), cuda.device_array(SPARSE, "f")  # fmt: skip
    for _ in range(2):
        close((s @ d).copy_to_host(), times_vector(parts, x), 1e-4)

    def spmv():
        library, real, kept = CLibrary("CUSPARSE"), 0, [np.array([v], "f") for v in (1, 0)]
        spmv.kept = kept
        handle = library.create_handle("cusparseCreate")
        addresses = s.indptr.function_address, s.indices.function_address, s.data.function_address
        matrix = library.create_handle(
            "cusparseCreateCsr", SPARSE, SPARSE, s.nnz, *addresses, 2, 2, 0, real
        )
        vectors = [
            library.create_handle("cusparseCreateDnVec", SPARSE, v.function_address, real)
            for v in (d, y)
        ]
        words = [
            handle, 0, kept[0].ctypes.data, matrix, vectors[0], kept[1].ctypes.data, vectors[1], real, 0,
        ]  # fmt: skip
        size = ctypes.c_size_t()
        library("cusparseSpMV_bufferSize", *words, ctypes.byref(size))
        buffer = cuda.device_array(max(size.value, 1), np.uint8)
        kept.append(buffer)
        return library, "cusparseSpMV", [*words, buffer.function_address]

    ours = make_loop_measure("s @ d", {"s": s, "d": d}, cuda.synchronize)
    ours, least = median_in_turn(ours, repeated_library_call(floor, spmv), count=1000)
    return ours, least, least + 1 + NEW


@register_row("N1", "default_rng().random(1000), float32", "us", "5 us", gpu=True)
def draw_few_random_numbers(floor):
    from numbalite import cuda

    rng = cuda.random.default_rng(1)
    few = rng.random(1000, "f4").copy_to_host()
    assert 0.4 < few.mean() < 0.6 and 0 <= few.min() and few.max() < 1
    ours = make_call_measure(lambda: rng.random(1000, "f4"), cuda.synchronize)
    return *median_in_turn(ours, floor.driver_call("launch"), count=500), 5


MANY = 1 << 17 if SMALL else 1 << 28


@register_row("N2", "default_rng().random(2^28), float32", "us", "1.1 x filling the memory", gpu=True, moved=4 * MANY)  # fmt: skip
def draw_many_random_numbers(floor):
    from numbalite import cuda

    rng = cuda.random.default_rng(1)
    d = rng.random(MANY, "f4")
    assert 0.49 < float(np.mean(d)) < 0.51
    ours = make_loop_measure("rng.random(n, 'f4')", {"rng": rng, "n": MANY}, cuda.synchronize)
    fill = make_loop_measure("d.fill(1)", {"d": d}, cuda.synchronize)
    ours, least = median_in_turn(ours, fill, count=4, rounds=7)
    return ours, least, 1.1 * least
