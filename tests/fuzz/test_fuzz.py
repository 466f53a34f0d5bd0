"""Runs fuzzing targets for a short time, always with the same inputs: no crash, no hang, no leak.

`make fuzz` runs them for longer, with other inputs; docs/hostile-input.md lists the findings.
"""

import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = re.findall(r"^@register_target\ndef fuzz_(\w+)", (HERE / "targets.py").read_text(), re.M)
# Inputs of these targets compile kernels, so fewer inputs are run.
INPUTS = {"launches": 30, "ufuncs": 60, "decorators": 30, "interface": 200, "cached": 80,
          "folder": 60, "headers": 100, "handles": 150, "pickles": 200}  # fmt: skip


def run_fuzzer(name, *arguments):
    return subprocess.run(
        [sys.executable, HERE / "run.py", name, *map(str, arguments)],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
def test_short_fuzz_run_finds_no_failure(name, tmp_path):
    count = INPUTS.get(name, 400)
    result = run_fuzzer(name, "--inputs", count, "--seconds", 60, "--keep", tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    done = re.search(rf"{name}: (\d+) inputs", result.stdout)
    assert done and int(done[1]) > 20
    assert not list(tmp_path.iterdir())


def test_fuzz_failure_is_reported_and_reproducible(tmp_path):
    """Runs tests/fuzz/run.py with a target that fails."""
    (tmp_path / "targets.py").write_text(
        (HERE / "targets.py").read_text()
        + "\n\n@register_target\ndef broken(data):\n    assert b'\\xff' not in data, 'found it'\n"
    )
    for name in ("run.py", "source.py", "files.py"):
        (tmp_path / name).write_text((HERE / name).read_text())
    package = f"{HERE.parents[1]}:{HERE.parent}"
    command = [sys.executable, str(tmp_path / "run.py"), "broken"]
    environment = {"PYTHONPATH": package, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    result = subprocess.run(
        [*command, "--seconds", "20", "--keep", str(tmp_path / "kept")],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert result.returncode == 1 and "found it" in result.stderr
    (found,) = (tmp_path / "kept").iterdir()
    assert b"\xff" in found.read_bytes() and str(found) in result.stdout
    again = subprocess.run(
        [*command, "--again", str(found)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert again.returncode == 1 and "found it" in again.stderr
