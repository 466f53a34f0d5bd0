"""If some version combinations are tested again, only their rows in the table of docs/support.md are
replaced."""

import importlib.machinery
import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_matrix_module():
    loader = importlib.machinery.SourceFileLoader("matrix", str(ROOT / ".ci/matrix"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("matrix", loader))
    loader.exec_module(module)
    return module


def test_compatibility_table_rows_are_replaced_and_sorted(monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    matrix = load_matrix_module()

    def make_result(python, compiler, outcome, numpy="2.0.2", driver="simulator"):
        return matrix.Result(python, numpy, compiler, driver, "Debian, x86_64", outcome)

    old = [
        make_result("3.10.13", "g++ 12.2.0", "8 passed"),
        make_result("3.10.13", "clang++ 14.0.6", "7 passed, 1 failed", "2.2.6"),
        make_result("3.13.0", "clang++ 14.0.6", "8 passed"),
        make_result("3.13.0t", "clang++ 14.0.6", "8 passed"),
        make_result("3.10.13", "NVRTC 12.4", "3 failed", driver="none"),
        make_result("3.10.13", "NVRTC 13.0", "9 passed", driver="none"),
    ]
    new = [
        make_result("3.10.14", "clang++ 16.0.1", "9 passed", "2.2.7"),
        make_result("3.12.1", "NVRTC 12.4", "9 passed", driver="none"),
        make_result("3.13.1t", "clang++ 14.0.6", "9 passed"),
        make_result("3.9.1", "g++ 12.2.0", "1 passed"),
    ]
    page = f"before\n{matrix.BEGIN}\n{matrix.table(old)}\n{matrix.END}after\n"
    assert matrix.rows_in(page) == old and matrix.rows_in("no table") == []
    expected = [new[3], old[0], new[0], old[2], new[2], new[1], old[5]]
    assert matrix.merged(matrix.rows_in(page), new) == expected
    assert matrix.merged([], new[:2]) == new[:2]


def test_compatibility_table_of_the_page_is_parsed():
    matrix = load_matrix_module()
    rows = matrix.rows_in(matrix.PAGE.read_text(encoding="utf-8"))
    assert len(rows) >= 10 and matrix.merged(rows, []) == rows
    assert {row.compiler for row in rows} >= {f"NVRTC {version}" for version in matrix.NVRTC}
