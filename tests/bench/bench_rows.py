"""The rows for pytest-benchmark: `pytest tests/bench/bench_rows.py [--benchmark-autosave ...]`.

Not collected by `make test`. Each row is a test: its result is checked, its call is timed by the
`benchmark` fixture (if pytest-benchmark is installed and the row times a Python call), and it fails if it
misses its limit. Peers are not measured here: run.py does that.
"""

import contextlib
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure
import rows  # noqa: F401  (registers, as the others do)

import ufunc_rows  # noqa: F401  isort: skip
import element_rows  # noqa: F401  isort: skip
import memory_rows  # noqa: F401  isort: skip
import library_rows  # noqa: F401  isort: skip
import array_rows  # noqa: F401  isort: skip
import python_rows  # noqa: F401  isort: skip
import course_rows  # noqa: F401  isort: skip


@pytest.fixture(scope="module")
def machine_floor(tmp_path_factory):
    from numbalite import cuda

    cuda.synchronize()
    return measure.HardwareFloor(tmp_path_factory.mktemp("floor"), {})


@contextlib.contextmanager
def measure_with_fixture(benchmark):
    """The fixture also times the first call that a row times."""

    def time_call(function, count, rounds):
        if benchmark is not None and benchmark.stats is None:
            benchmark.pedantic(function, iterations=count, rounds=rounds)

    measure.SEEN.append(time_call)
    try:
        yield
    finally:
        measure.SEEN.remove(time_call)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", measure.ROWS)
def test_benchmark_row_runs_within_its_floor(key, machine_floor, request):
    from numbalite import cuda

    row = measure.ROWS[key]
    if row.gpu and cuda.is_simulated() and not measure.SMALL:
        pytest.skip("needs a GPU")
    has_fixture = request.config.pluginmanager.has_plugin("benchmark")
    benchmark = request.getfixturevalue("benchmark") if has_fixture else None
    try:
        with measure_with_fixture(benchmark):
            ours, least, limit = row.measure(machine_floor)
    except measure.RowSkipped as reason:
        pytest.skip(str(reason))
    if benchmark is not None:
        benchmark.extra_info.update(ours=ours, floor=least, limit=limit, unit=row.unit)
    if not measure.SMALL:
        assert limit is None or ours <= limit, f"{ours:.4g} {row.unit}, at most {limit:.4g}"
