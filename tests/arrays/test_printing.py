"""Device arrays are printed as NumPy arrays, and only the printed elements are copied to the
host."""

import os
import random
import threading

import numpy as np
import pytest
from kit.sample import VARIABLE

from numbalite import _core, cuda
from numbalite.errors import KernelError

RECORD = np.dtype([("x", "f4"), ("n", "i2", (2,)), ("name", "S3")])
DTYPES = [
    "?",
    "i1",
    "u8",
    "i4",
    "f2",
    "f4",
    "f8",
    "c8",
    "c16",
    "S4",
    "U3",
    "M8[s]",
    "m8[D]",
    RECORD,
]
CONTEXT_IS_DESTROYED, ILLEGAL_ADDRESS = 709, 700


@pytest.fixture
def seeded_random():
    return random.Random(f"{os.environ[VARIABLE]} printing")


def random_array(draw, shape, dtype):
    rng = np.random.default_rng(draw.randrange(2**32))
    scale = 10.0 ** draw.choice([-6, 0, 0, 3])
    values = rng.standard_normal(shape) * scale
    dtype = np.dtype(dtype)
    if dtype.names:
        made = np.zeros(shape, dtype)
        made["x"] = values
        made["n"] = rng.integers(-99, 99, (*shape, 2))
        made["name"] = "ab"
        return made
    if dtype.kind in "SU":
        return np.asarray(rng.integers(0, 999, shape)).astype(dtype)
    if dtype.kind == "c":
        return (values + 1j * values[..., ::-1] if values.ndim else values + 1j).astype(dtype)
    if dtype.kind == "f":
        special = rng.random(shape) < 0.02
        return np.where(special, draw.choice([np.nan, np.inf, 0.0]), values).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(values > 0)
    return np.asarray(rng.integers(0, 120, shape)).astype(dtype)


def random_view(draw, shape):
    """Returns an index for arrays of this shape."""
    index = []
    for _ in shape:
        step = draw.choice([1, 1, 2, 3, -1, -2])
        index.append(slice(None, None, step))
    return tuple(index)


def random_shape(draw):
    ndim = draw.choice([0, 1, 1, 1, 2, 2, 3, 4])
    longest = {0: 1, 1: 3000, 2: 90, 3: 25, 4: 12}[ndim]
    return tuple(draw.choice([0, 1, 2, 7, longest, draw.randint(1, longest)]) for _ in range(ndim))


def expected_repr(host, name="DeviceNDArray"):
    """Returns the expected `repr`, from the whole array on the host."""
    prefix, options = f"{name}(", np.get_printoptions()
    body = (
        "[]" if host.size == 0 else np.array2string(host, separator=", ", prefix=prefix, suffix=",")
    )
    return prefix + body


def test_random_arrays_are_printed_as_by_numpy(seeded_random):
    for _ in range(60):
        host = random_array(
            seeded_random, random_shape(seeded_random), seeded_random.choice(DTYPES)
        )
        view = random_view(seeded_random, host.shape)
        device, host = cuda.to_device(host)[(*view, ...)], host[(*view, ...)]
        if seeded_random.random() < 0.3:
            device, host = device.T, host.T
        options = {
            "threshold": seeded_random.choice([0, 5, 20, 1000, 1000, 10**6]),
            "edgeitems": seeded_random.choice([1, 2, 3, 3, 3, 5]),
            "precision": seeded_random.choice([2, 8, 12]),
            "linewidth": seeded_random.choice([40, 75, 120]),
            "suppress": seeded_random.choice([False, True]),
        }
        with np.printoptions(**options):
            assert str(device) == str(host), options
            shown = repr(device)
            assert shown.startswith(expected_repr(host)), options
            facts = shown.removeprefix(expected_repr(host))
            is_shortened = host.ndim > 0 and (host.size > options["threshold"] or not host.size)
            assert (f"shape={host.shape}" in facts) == is_shortened, options
            assert facts.endswith(", device=0)")


def test_numpys_functions_print_random_arrays_as_numpy_does(seeded_random):
    for _ in range(60):
        host = random_array(
            seeded_random, random_shape(seeded_random), seeded_random.choice(DTYPES)
        )
        view = random_view(seeded_random, host.shape)
        device, host = cuda.to_device(host)[(*view, ...)], host[(*view, ...)]
        options = {
            "threshold": seeded_random.choice([0, 5, 20, 1000, 1000, 10**6]),
            "edgeitems": seeded_random.choice([1, 2, 3, 3, 3, 5]),
            "linewidth": seeded_random.choice([40, 75, 120]),
            "legacy": seeded_random.choice([False, False, False, "1.13", "1.25"]),
        }
        keywords = {
            name: value
            for name, value in {
                "threshold": seeded_random.choice([None, 0, 7, 1000]),
                "edgeitems": seeded_random.choice([None, 1, 2, 4]),
                "separator": seeded_random.choice([" ", ", "]),
                "prefix": seeded_random.choice(["", "abc("]),
                "precision": seeded_random.choice([None, 3]),
                "max_line_width": seeded_random.choice([None, 30, 100]),
            }.items()
            if seeded_random.random() < 0.5
        }
        with np.printoptions(**options):
            shown = np.array2string(device, **keywords)
            assert shown == np.array2string(host, **keywords), (options, keywords)
            for function in (np.array_repr, np.array_str):
                arguments = seeded_random.choice([(), (30,), (100, 3)])
                assert function(device, *arguments) == function(host, *arguments), options
            with pytest.raises(TypeError):
                np.array2string(device, no=1)


def test_abbreviated_repr_of_many_axes_matches_numpy():
    shape = (8,) * 3 + (1,) * 20 + (2,) * 3
    host = np.arange(8**3 * 2**3).reshape(shape)
    with np.printoptions(edgeitems=2):
        assert str(cuda.to_device(host)) == str(host)
        assert repr(cuda.to_device(host)).startswith(expected_repr(host))


def test_repr_of_common_arrays_has_the_documented_form():
    def repr_on_device(values, dtype=None):
        return repr(cuda.to_device(np.asarray(values, dtype)))

    assert repr_on_device([0, 1.5], "f4") == "DeviceNDArray([0. , 1.5], dtype=float32, device=0)"
    assert repr_on_device(2.5, "f8") == "DeviceNDArray(2.5, dtype=float64, device=0)"
    assert repr_on_device([True]) == "DeviceNDArray([ True], dtype=bool, device=0)"
    assert (
        repr_on_device(np.zeros((0, 3)))
        == "DeviceNDArray([], shape=(0, 3), dtype=float64, device=0)"
    )
    assert repr_on_device(["ab"]) == "DeviceNDArray(['ab'], dtype='<U2', device=0)"
    assert repr_on_device([0], "M8[D]") == (
        "DeviceNDArray(['1970-01-01'], dtype='datetime64[D]', device=0)"
    )
    assert repr_on_device(np.arange(2000)) == (
        "DeviceNDArray([   0,    1,    2, ..., 1997, 1998, 1999],\n"
        "              shape=(2000,), dtype=int64, device=0)"
    )


def test_a_mean_and_a_record_show_their_values():
    x = cuda.to_device(np.arange(5.0))
    assert repr(x.mean()) == "DeviceNDArray(2., dtype=float64, device=0)"
    assert str(x.mean()) == "2.0"
    points = cuda.to_device(np.array([(1, 2), (3, 4)], [("x", "f4"), ("n", "i4")]))
    assert str(points[1]) == "(3.0, 4)"
    assert repr(points[1]) == (
        "DeviceRecord((3., 4), dtype=[('x', '<f4'), ('n', '<i4')], device=0)"
    )


@pytest.mark.parametrize(
    "show",
    [str, repr, lambda d: d._repr_html_(), np.array2string, np.array_repr, np.array_str],
    ids=["str", "repr", "html", "array2string", "array_repr", "array_str"],
)
def test_only_printed_elements_are_copied(show):
    large = cuda.device_array(100_000_000, np.float32)
    large[:] = 0
    square = large[:90_000_000].reshape(9000, 10_000)
    for array, count in [(large, 6), (square, 36), (square[::-3, 5::7], 36), (large[3:3], 0)]:
        _core.trace(True)
        try:
            show(array)
            up, down = _core.copied()
            calls = _core.traced()
        finally:
            _core.trace(False)
        assert up == 0
        assert down == 4 * count
        assert sum("DtoH" in call for call in calls) <= 1, calls


def test_printing_during_a_capture_keeps_the_capture_valid():
    x = cuda.to_device(np.arange(4.0))
    others = []

    def collect_texts():
        others.extend([str(x), repr(x), x._repr_html_(), f"{x}"])

    stream = cuda.stream()
    with stream.capture() as graph:
        x.fill(2.0, stream)
        collect_texts()
        thread = threading.Thread(target=collect_texts)
        thread.start()
        thread.join()
    state = "<no values while a graph is captured>"
    assert len(others) == 8
    assert [text for text in others if state.replace("<", "").replace(">", "") not in text] == []
    assert others[:2] == [state, f"DeviceNDArray({state}, shape=(4,), dtype=float64, device=0)"]
    graph.launch(stream)
    stream.synchronize()
    assert repr(x) == "DeviceNDArray([2., 2., 2., 2.], dtype=float64, device=0)"


def test_printing_reports_a_lost_context():
    x = cuda.to_device(np.arange(4.0))

    def texts_after_failures(show, status):
        """Calls `show` once for each of its driver calls, with that call failing; returns the texts
        that differ."""
        texts = set()
        for number in range(1, 8):
            _core.fail_call_at(number, status)
            try:
                texts.add(show(x))
            finally:
                _core.fail_call_at(0)
        return texts - {show(x)}

    for status in (ILLEGAL_ADDRESS, CONTEXT_IS_DESTROYED):
        texts = texts_after_failures(repr, status)
        assert texts
        assert all(text.startswith(f"DeviceNDArray(<[{status}] ") for text in texts), texts
        assert all(text.endswith(">, shape=(4,), dtype=float64, device=0)") for text in texts)
        texts = texts_after_failures(str, status)
        assert texts and all(text.startswith(f"<[{status}] ") for text in texts), texts
        assert any(
            f"&lt;[{status}] " in text
            for text in texts_after_failures(lambda x: x._repr_html_(), status)
        )


def test_edgeitems_of_zero_print_the_last_element_as_numpy_does():
    host = np.arange(80)
    with np.printoptions(edgeitems=0, threshold=5):
        assert str(cuda.to_device(host)) == str(host) == "[... 79]"


def test_printing_survives_every_failed_driver_call():
    host = np.arange(4000.0).reshape(50, 80)
    x = cuda.to_device(host)
    for status in (2, ILLEGAL_ADDRESS):
        for number in range(1, 12):
            _core.fail_call_at(number, status)
            try:
                shown = repr(x)
            except MemoryError:
                assert status == 2
                continue
            finally:
                _core.fail_call_at(0)
            assert shown.startswith(expected_repr(host)) or "(<" in shown
    assert str(x) == str(host)


def test_printing_after_close_reports_the_closed_context(run_python):
    done = run_python(
        "import numpy as np\n"
        "from numbalite import cuda\n"
        "x = cuda.to_device(np.arange(4.0))\n"
        "r = cuda.to_device(np.zeros(2, [('x', 'f4')]))[0]\n"
        "cuda.close()\n"
        "print(repr(x)); print(x); print(repr(r)); print(x._repr_html_())\n"
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("DeviceNDArray(<") and "shape=(4,), dtype=float64" in lines[0]
    assert len(lines) == 4
    assert all("was reset" in line for line in lines), lines


def test_printing_raises_the_error_of_an_earlier_kernel():
    """Printing waits for earlier kernels, and raises their errors."""

    @cuda.jit
    def assert_first_above_one(x):
        "assert(x[0] > 1);"

    x = cuda.to_device(np.zeros(4))
    assert_first_above_one[1, 1](x)
    with pytest.raises(KernelError, match="x\\[0\\] > 1"):
        repr(x)


@pytest.mark.sim
@pytest.mark.parametrize("length", [4, 5000])
def test_printing_allows_uninitialized_elements(length):
    """Under checks, print reports uninitialized elements; a console or a debugger displays them."""

    @cuda.jit
    def write_first(x):
        "x[0] = 1;"

    with cuda.checks():
        x = cuda.device_array(length)
        write_first[1, 1](x)
        assert repr(x).startswith("DeviceNDArray([1.")
        assert "[1." in x._repr_html_()
    with pytest.raises(KernelError, match="nothing has written"), cuda.checks():
        str(x)
