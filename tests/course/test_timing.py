"""Tests size, where, stamp and timed, which the first cell of every lesson defines."""

import time

import numpy as np
import pytest

from numbalite import cuda
from numbalite.course import device, size, stamp, timed, where


@cuda.jit("void(float32[:])")
def increment(a):
    """
    int i = grid<1>();
    if (i < a.size()) a[i] += 1;
    """


def test_size_depends_on_the_device(driver_kind):
    assert size(gpu=10, sim=3) == (3 if driver_kind == "sim" else 10)
    assert size("large", "small") == ("small" if driver_kind == "sim" else "large")
    assert size() == (10_000 if driver_kind == "sim" else 10_000_000)


def test_where_returns_a_sentence_about_the_device(capsys, driver_kind):
    sentence = where()
    assert capsys.readouterr().out == sentence + "\n"
    if driver_kind == "sim":
        assert sentence == "On the simulator: times are those of a CPU, not of a GPU."
    else:
        assert sentence.startswith(("On a ", "On an ")) and sentence.endswith(".")


def test_where_replaces_the_simulator_warning(run_python):
    code = "import warnings; warnings.simplefilter('error')\n"
    code += "from numbalite.course import size, where; size(); where()"
    result = run_python(code, NUMBALITE_DRIVER="auto", CUDA_VISIBLE_DEVICES="")
    assert result.stdout.startswith("On the simulator") and result.stderr == ""


@pytest.mark.parametrize("simulated", [True, False])
def test_a_plot_of_times_is_labelled_with_the_device(monkeypatch, simulated):
    """Plots of simulated times are pale and labelled "simulated", so that they cannot be mistaken
    for times of a GPU."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    name = type("Device", (), {"name": "NVIDIA H200"})
    monkeypatch.setattr(device, "simulated", lambda: simulated)
    monkeypatch.setattr(cuda, "get_current_device", lambda: name)
    fig, ax = pyplot.subplots()
    ax.bar(["a", "b"], [1, 2])
    ax.plot([1, 2])
    stamp(ax, "two bars")
    pyplot.close(fig)
    where_taken = "the simulator: times of a CPU, not of a GPU" if simulated else "an NVIDIA H200"
    assert ax.get_title() == f"two bars\nOn {where_taken}"
    assert [text.get_text() for text in ax.texts] == ["simulated"] * simulated
    assert all(
        drawn.get_alpha() == (0.3 if simulated else None) for drawn in (*ax.patches, *ax.lines)
    )


def test_import_does_not_load_cuda(run_python):
    code = "import sys, numbalite.course\nfrom numbalite.course import size, timed, where\n"
    code += "print('numbalite.cuda' in sys.modules, 'pytest' in sys.modules)"
    assert run_python(code).stdout == "False False\n"


def test_timed_runs_the_kernel():
    a = cuda.to_device(np.zeros(1000, np.float32))
    seconds = timed(increment[4, 256], a, repeat=3)
    assert 0 < seconds < 1
    counts = a.copy_to_host()
    assert (counts == counts[0]).all() and counts[0] >= 4


@pytest.mark.parametrize("result", [None, 3, "host"])
def test_timed_measures_host_work_in_seconds(result):
    seconds = timed(lambda: (time.sleep(0.02), result)[1], repeat=3)
    assert 0.018 < seconds < 2  # seconds, not milliseconds


def test_timed_passes_its_arguments():
    seen = []
    timed(lambda *args, **kw: seen.append((args, kw)), 1, 2, repeat=1, stream=4)
    assert seen and all(call == ((1, 2), {"stream": 4}) for call in seen)


def test_timed_repeats_long_calls_less(monkeypatch):
    from numbalite.course import timing

    monkeypatch.setattr(timing, "_ENOUGH", 0.05)
    calls = []
    timed(lambda: (calls.append(0), time.sleep(0.03)), repeat=50)
    assert 2 <= len(calls) <= 5


@pytest.mark.parametrize("repeat", [0, -1])
def test_repeat_below_one_raises(repeat):
    with pytest.raises(ValueError, match="at least 1"):
        timed(lambda: None, repeat=repeat)


def test_timed_requires_a_callable():
    with pytest.raises(TypeError, match="must be callable, not float"):
        timed(3.0)
