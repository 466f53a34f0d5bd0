"""Tests the command `numbalite`."""

import pytest

from numbalite import __main__ as command
from numbalite.errors import CudaSupportError


@pytest.mark.parametrize("arguments", [["demo"], ["judge", "k.cu"]], ids=str)
def test_missing_compiler_prints_one_sentence(monkeypatch, capsys, arguments):
    def raise_without_compiler(given):
        given.pop(0)
        raise CudaSupportError("no C++ compiler was found: pip install ziglang")

    monkeypatch.setattr(command, "run_command", raise_without_compiler)
    assert command.main(arguments) == 1
    printed = capsys.readouterr()
    expected = f"numbalite {arguments[0]}: no C++ compiler was found: pip install ziglang\n"
    assert (printed.out, printed.err) == ("", expected)
