"""Creates files that configure editors for kernels: `numbalite editor`.

Without an option, the command creates a `.clangd` file in a folder. clangd then reads *.cu and *.cuh files
with numbalite's own declarations; no CUDA toolkit is needed. The option `--vscode` copies the extension in
vscode/ to the folder where Visual Studio Code searches extensions; the extension colours C++ in the strings
of kernels. Uses compilers. Begin with this file.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import sys

from numbalite.compilers import headers

USAGE = """usage: numbalite editor [FOLDER]            writes FOLDER/.clangd (default: here)
       numbalite editor --vscode [FOLDER]   installs the extension for VS Code (default: ~/.vscode/extensions)
"""
_FIRST_LINE = "# Written by `numbalite editor`; run it again after numbalite has been updated."
EXTENSION = pathlib.Path(__file__).parent / "vscode"


def main(arguments: list[str]) -> int:
    """Runs the command and returns the exit status."""
    vscode = arguments[:1] == ["--vscode"]
    rest = arguments[vscode:]
    if len(rest) > 1 or any(argument.startswith("-") for argument in rest):
        print(USAGE, end="", file=sys.stderr)
        return 2
    try:
        made = install_extension(*rest) if vscode else write_clangd(*rest)
    except OSError as problem:
        print(f"numbalite editor: {problem}", file=sys.stderr)
        return 1
    print(made)
    return 0


def clangd_settings() -> str:
    """Returns the text of .clangd."""
    source = headers.cuda_src()
    # YAML accepts JSON strings, so every path is quoted correctly.
    flags = [
        *("-xc++", "-std=c++17", "-fsigned-char", "-w"),
        *(f"-I{source}", f"-I{source}/sim/include", "-include", f"{source}/sim/editor.h"),
    ]
    return (
        f"{_FIRST_LINE}\n"
        "If:\n"
        "  PathMatch: .*\\.(cu|cuh)\n"
        "CompileFlags:\n"
        "  Compiler: clang++\n"
        f"  Add: {json.dumps(flags)}\n"
    )


def write_clangd(folder: str = ".") -> pathlib.Path:
    """Writes .clangd; raises FileExistsError if a .clangd file from another program exists."""
    path = pathlib.Path(folder) / ".clangd"
    if path.exists() and not path.read_text(errors="replace").startswith(_FIRST_LINE):
        raise FileExistsError(
            f"{path} is there and not numbalite's: add this to it, after a line ---\n{clangd_settings()}"
        )
    path.write_text(clangd_settings())
    return path.absolute()


def install_extension(folder: str | None = None) -> pathlib.Path:
    """Copies the extension into a folder of extensions, and replaces an older version."""
    name = json.loads((EXTENSION / "package.json").read_text())
    into = pathlib.Path(folder) if folder else pathlib.Path.home() / ".vscode" / "extensions"
    for old in into.glob(f"{name['publisher']}.{name['name']}-*"):
        shutil.rmtree(old)
    path = into / f"{name['publisher']}.{name['name']}-{name['version']}"
    shutil.copytree(EXTENSION, path)
    return path.absolute()
