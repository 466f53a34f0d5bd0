"""Operations in many threads at once that other tests do not cover: ufuncs, gufuncs, reductions, exchange,
streams, shared arrays."""

import numpy as np
import pytest

from numbalite import cuda, guvectorize, vectorize

COUNT = 5


@pytest.fixture
def run_without_leaks(count_live, run_in_threads):
    """Calls together() after each body ran once alone, so that compiled code is cached; asserts that no
    object leaks."""

    def run_and_count(*bodies):
        for body in bodies:
            body()
        before = count_live()
        run_in_threads(*bodies)
        assert count_live() == before

    return run_and_count


@vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def plus(x, y):
    "return x + y;"


@vectorize(target="cuda")
def thrice(x):
    "return 3 * x;"


@vectorize(["float64(float64)"], target="parallel")
def halved(x):
    "return x / 2;"


@guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),()->(n)", target="cuda")
def add_first_element(x, y, out):
    "for (int i = 0; i < out.size(); ++i) out[i] = x[i] + y[0];"


total = cuda.reduce("a + b")


def test_ufunc_results_are_correct_in_several_threads(run_without_leaks):
    """Tests ufuncs with host and device operands, two dtypes, with and without streams and out=."""

    def call_ufuncs(seed):
        host = np.arange(300, dtype="f4") + seed
        device = cuda.to_device(host.astype("f8"))
        stream = cuda.stream(non_blocking=bool(seed % 2))
        out = cuda.device_array_like(device)
        for _ in range(8):
            np.testing.assert_array_equal(plus(host, host), 2 * host)
            assert plus(seed, 1.0) == seed + 1.0
            plus(device, device, out=out, stream=stream)
            stream.synchronize()
            np.testing.assert_array_equal(out.copy_to_host(), 2 * host)
            np.testing.assert_array_equal(halved(host), host / 2)

    run_without_leaks(*(lambda s=s: call_ufuncs(s) for s in range(COUNT)))


def test_concurrent_ufunc_calls_compile_new_types(run_in_threads):
    results = []

    def call_lazy_ufunc(dtype):
        x = np.arange(5).astype(dtype)
        results.append((thrice(x).tolist(), thrice(cuda.to_device(x)).copy_to_host().tolist()))

    run_in_threads(*(lambda d=d: call_lazy_ufunc(d) for d in ("f4", "f4", "i4", "i4", "f8")))
    assert results == [([0, 3, 6, 9, 12], [0, 3, 6, 9, 12])] * 5


def test_gufunc_and_reduction_results_are_correct_in_threads(run_without_leaks):
    def call_gufunc_and_reduce(seed):
        host = np.arange(24.0).reshape(4, 6) + seed
        device = cuda.to_device(host)
        for _ in range(8):
            np.testing.assert_array_equal(add_first_element(host, 1.0), host + 1)
            np.testing.assert_array_equal(add_first_element(device, 2.0).copy_to_host(), host + 2)
            assert total(device.ravel()) == host.sum()
            np.testing.assert_array_equal(plus.reduce(host, axis=1), host.sum(1))
            np.testing.assert_array_equal(
                plus.accumulate(device, axis=0).copy_to_host(), np.cumsum(host, 0)
            )

    run_without_leaks(*(lambda s=s: call_gufunc_and_reduce(s) for s in range(COUNT)))


class ForeignArray:
    """A stand-in for an array of another library; its subclasses export it by one protocol each."""

    def __init__(self, array):
        self.array = array


class ArrayByInterface(ForeignArray):
    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


class ArrayByDLPack(ForeignArray):
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_array_exchange_is_thread_safe(run_without_leaks):
    """One array is exported to all threads by both protocols, and each thread also exports its own array."""
    shared = cuda.to_device(np.arange(64, dtype="f4"))
    wanted = np.arange(64, dtype="f4")

    def exchange_arrays(kind):
        for _ in range(12):
            view = cuda.from_dlpack(shared)
            np.testing.assert_array_equal(view.copy_to_host(), wanted)
            got = plus(kind(shared), kind(cuda.to_device(wanted)))
            np.testing.assert_array_equal(got.copy_to_host(), 2 * wanted)
            assert cuda.as_cuda_array(ArrayByInterface(shared[3:])).copy_to_host()[0] == 3
            del view, got

    run_without_leaks(
        *(
            lambda k=k: exchange_arrays(k)
            for k in (ArrayByInterface, ArrayByDLPack, ArrayByInterface, ArrayByDLPack)
        )
    )


def test_streams_and_events_are_thread_safe(run_without_leaks):
    """Threads create streams and events, wait for those of other threads, and release them."""
    shared = cuda.stream()
    events = [cuda.event() for _ in range(COUNT)]
    for event in events:
        event.record()

    def use_streams(number):
        mine = cuda.stream(non_blocking=True)
        x = cuda.to_device(np.ones(100), stream=mine)
        for turn in range(10):
            y = x + turn
            events[number].record(shared)
            events[(number + 1) % COUNT].wait(mine)
            y.copy_to_host(stream=mine)
            assert shared.query() in (True, False)
            events[number].synchronize()
            del y
        mine.synchronize()

    run_without_leaks(*(lambda n=n: use_streams(n) for n in range(COUNT)))
    shared.synchronize()


def test_assignment_to_views_is_thread_safe(run_without_leaks):
    shared = cuda.to_device(np.zeros((COUNT, 50)))

    def assign_to_row(row):
        mine = shared[row]
        for value in range(20):
            mine[::2] = value
            mine[1::2] = np.arange(25.0)
            mine.fill(value)
        assert mine.T.copy_to_host().tolist() == [19.0] * 50

    run_without_leaks(*(lambda r=r: assign_to_row(r) for r in range(COUNT)))


def test_ipc_handles_are_thread_safe(run_without_leaks):
    def open_ipc_handles():
        for size in range(1, 12):
            array = cuda.to_device(np.arange(size))
            array.get_ipc_handle()
            assert array.copy_to_host().tolist() == list(range(size))
            # another thread exports a handle, which moves an array while its attributes are read
            assert (array + 1).copy_to_host().tolist() == list(range(1, size + 1))
            cuda.ipc_array(size).fill(1)

    run_without_leaks(*[open_ipc_handles] * 4)


def test_current_device_is_per_thread(run_in_threads):
    def switch_devices():
        for _ in range(20):
            with cuda.gpus[0] as device:
                assert cuda.get_current_device().id == device.id == 0
                cuda.current_context().synchronize()

    run_in_threads(*[switch_devices] * COUNT)
