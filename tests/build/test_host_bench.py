"""The benchmark of the host's part of calls runs without a GPU, with a driver that does nothing."""

import pathlib
import re
import subprocess
import sys

from kit.needs import needs_nvrtc

BENCH = pathlib.Path(__file__).parents[1] / "bench" / "run.py"


@needs_nvrtc
def test_host_benchmark_prints_the_selected_rows():
    done = subprocess.run(
        [sys.executable, BENCH, "--host", "--only", "launch,np.fft.fft"],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^(\S.*?)  +([\d.]+) us +(\d+)$", done.stdout, re.MULTILINE)
    assert [name for name, _, _ in rows] == ["launch", "np.fft.fft", "np.fft.fft, real"]
    assert all(0 < float(microseconds) < 1000 for _, microseconds, _ in rows)
    assert rows[0][2] == "0"  # no Python of ours


@needs_nvrtc
def test_a_row_with_changing_shapes():
    done = subprocess.run(
        [sys.executable, BENCH, "--host", "--shapes", "--only", "a + a"],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    row = re.search(r"^a \+ a +numbalite ([\d.]+) \(([\d.]+)\)$", done.stdout, re.MULTILINE)
    assert all(0 < float(microseconds) < 1000 for microseconds in row.groups())
