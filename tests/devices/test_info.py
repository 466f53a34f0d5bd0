"""Tests the report of the command `numbalite info`, also if parts of the system are missing."""

import os
import signal
import subprocess
import sys

import pytest

from numbalite.compilers import cache

LABELS = """numbalite Python NumPy environment driver devices NVRTC libraries headers host cache""".split()


def test_info_command_prints_every_label(run_python):
    text = run_python("-m numbalite", "info").stdout
    for label in LABELS:
        assert f"\n{label}" in "\n" + text
    assert "compute capability" in text and "multiprocessors" in text


def test_info_reports_missing_software(run_python, tmp_path):
    result = run_python(
        "-m numbalite",
        "info",
        NUMBALITE_NVRTC=str(tmp_path / "libnvrtc.so"),
        NUMBALITE_CXX=str(tmp_path / "g++"),
        NUMBALITE_DRIVER="cuda",
        NUMBALITE_CACHE_DIR="/proc/nowhere",
        CUDA_VISIBLE_DEVICES="",
    )
    for label in LABELS:
        assert f"\n{label}" in "\n" + result.stdout
    assert "NVRTC           not available: NUMBALITE_NVRTC=" in result.stdout


def test_info_reports_invalid_environment_variables(run_python):
    result = run_python("-m numbalite", "info", NUMBALITE_DRIVER="gpu", NUMBALITE_CACHE_SIZE="x")
    assert "NUMBALITE_DRIVER='gpu'" in result.stdout
    assert "NUMBALITE_CACHE_SIZE='x'" in result.stdout


def test_usage_is_printed_for_a_missing_command(run_python):
    asked_nothing = run_python("-m numbalite", check=False)
    assert asked_nothing.returncode == 2
    assert asked_nothing.stderr.startswith("usage: numbalite COMMAND")
    assert "cache clear" in run_python("-m numbalite", "--help").stdout
    assert run_python("-m numbalite", "nonsense", check=False).returncode == 2


def test_version_command_prints_the_version(run_python):
    import numbalite

    for option in ("--version", "-V", "version"):
        assert run_python("-m numbalite", option).stdout == f"numbalite {numbalite.__version__}\n"


@pytest.mark.parametrize("command", ["info", "demo", "--help"])
def test_commands_survive_a_closed_pipe(command):
    """`numbalite info | head -1` ends without a traceback, also when the pipe breaks at the last flush."""
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-m", "numbalite", command],
        stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
    )  # fmt: skip
    os.close(writer)
    assert (result.stderr, result.returncode) == ("", 128 + signal.SIGPIPE)


def test_cache_command_counts_and_removes_files(run_python, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    (folder / ("0" * 32 + ".image")).write_bytes(cache._MAGIC + b"anything")
    variables = {"NUMBALITE_CACHE_DIR": str(folder)}
    assert "1 kernels" in run_python("-m numbalite", "cache", **variables).stdout
    assert "1 files removed" in run_python("-m numbalite", "cache", "clear", **variables).stdout
    assert list(folder.iterdir()) == []
