"""Tests the benchmark of the host's part of calls, with a driver that does nothing, and the page
with the benchmark's results."""

import json
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
def test_host_benchmark_times_changing_shapes():
    done = subprocess.run(
        [sys.executable, BENCH, "--host", "--shapes", "--only", "a + a"],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    row = re.search(r"^a \+ a +numbalite ([\d.]+) \(([\d.]+)\)$", done.stdout, re.MULTILINE)
    assert all(0 < float(microseconds) < 1000 for microseconds in row.groups())


def test_benchmark_writes_a_page_of_its_results(tmp_path):
    record = {
        "device": "a GPU", "machine": "a machine", "versions": {"numbalite": "1"}, "left_out": ["X1: no <peer>"],
        "rows": {
            "L1": {
                "work": "launch, k[g, b]", "unit": "us", "moved": None, "ours": 3.0, "floor": 2.0, "limit": 2.5,
                "target": "", "peers": {"cupy": 6.0}, "notes": [],
            },
        },
    }  # fmt: skip
    (tmp_path / "bench.json").write_text(json.dumps(record))
    page = tmp_path / "new" / "index.html"
    command = [sys.executable, BENCH, "--from", tmp_path / "bench.json", "--page", page]
    subprocess.run(command, check=True, timeout=60)
    text = page.read_text()
    widths = re.findall(r'"name">(\w+)<.*?"time">(.*?)<.*?width: ([\d.]+)%', text, re.DOTALL)
    assert widths == [
        ("floor", "2.00 µs", "33.3"), ("numbalite", "3.00 µs", "50.0"), ("cupy", "6.00 µs", "100.0")
    ]  # fmt: skip
    assert "a GPU; a machine" in text
    assert "numbalite 1" in text
    assert "2.50 µs missed" in text
    assert "X1: no &lt;peer&gt;" in text
