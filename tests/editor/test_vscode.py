"""Tests the grammar for VS Code with another engine for TextMate grammars, and with VS Code's own
grammars of Python and C++."""

import json
import pathlib
import sys

import pytest

import numbalite
from numbalite import editor

PACKAGE = json.loads((editor.EXTENSION / "package.json").read_text())
(GRAMMAR,) = PACKAGE["contributes"]["grammars"]
OURS = editor.EXTENSION / GRAMMAR["path"]
CUDA = "meta.embedded.block.cuda"

PROGRAM = '''
from numbalite import cuda, vectorize

@cuda.jit("void(float32[:])")
def k(x):
    """
    // a comment
    __shared__ float s[32];
    for (int i = grid<1>(); i < x.size(); ++i) x[i] += 1.5f;
    """

after = "return 1;"

@vectorize(
    ["float32(float32)"],
    target="cuda",
)
def f(x):
    "return sin(x);"

@cuda.jit
def python(x):
    """A docstring of Python."""
    i = cuda.grid(1)
    x[i] = "return"

@cuda.jit
def bare(x):
    x[0] = 1

def next_to_it():
    """
    None, either.
    """

class Kernels:
    @staticmethod
    @cuda.jit(device=True)
    def inside(x):
        r\'\'\'
        return 2 * x;
        \'\'\'

    def method(self):
        """
        None of ours.
        """

m = cuda.module(r"""
__global__ void count(int *x) { x[0] = 7; }
""", name="m")
k2 = cuda.jit(source="__global__ void k2(int *x) {}", name="k2")
total = cuda.reduce("a + b")

@other.decorator
def g():
    """
    text;
    """
'''


@pytest.fixture(scope="module")
def line_scopes(tmp_path_factory):
    """Returns line -> [(text, scopes)]. numbalite's rules precede those of Python, because an
    injection with L: has priority."""
    highlight = pytest.importorskip("babi.highlight")
    folder = pathlib.Path(sys.prefix) / "share" / "babi" / "grammar_v1"
    if not folder.is_dir():
        pytest.skip("needs babi-grammars")
    python = json.loads((folder / "source.python.json").read_text())

    def prepend_rules(rule, name=""):
        if isinstance(rule, dict):
            if "patterns" in rule and "string" not in name and "comment" not in name:
                rule["patterns"].insert(0, {"include": "numbalite.injection"})
            for key, value in rule.items():
                prepend_rules(value, key)
        elif isinstance(rule, list):
            for one in rule:
                prepend_rules(one)

    prepend_rules(python)
    own = tmp_path_factory.mktemp("grammars")
    (own / "source.python.json").write_text(json.dumps(python))
    cuda = {"scopeName": "source.cuda-cpp", "patterns": [{"include": "source.cpp"}]}
    (own / "source.cuda-cpp.json").write_text(json.dumps(cuda))
    (own / "numbalite.injection.json").write_text(OURS.read_text())
    grammars = highlight.Grammars(folder, own)
    compiler = grammars.compiler_for_scope("source.python")
    state = compiler.root_state
    found = []
    for number, line in enumerate(PROGRAM.splitlines(True)):
        state, regions = highlight.highlight_line(compiler, state, line, number == 0)
        found.append([(line[r.start : r.end], r.scope) for r in regions])
    return found


def scopes_of_word(scopes, text, word, nth=0):
    """Returns the scopes of a word in the nth line that contains a text."""
    lines = [line for line in scopes if text in "".join(part for part, _ in line)]
    return next(scope for part, scope in lines[nth] if word in part)


def test_kernel_strings_are_highlighted_as_cpp(line_scopes):
    lines = PROGRAM.splitlines()
    inside = [CUDA in str(line) for line in line_scopes]
    for number, line in enumerate(lines):
        is_cxx = (";" in line and "after =" not in line and "text;" not in line) or "// a" in line
        is_cxx |= "int *x" in line or '"a + b"' in line
        if '"""' not in line and "'''" not in line:  # such a line has both
            assert inside[number] == is_cxx, (line, line_scopes[number])
    assert any(
        "comment" in scope for scope in scopes_of_word(line_scopes, "// a comment", "a comment")
    )
    assert any(
        scope.startswith("keyword.control")
        for scope in scopes_of_word(line_scopes, "for (int", "for")
    )
    assert any(
        "entity.name.function" in scope for scope in scopes_of_word(line_scopes, "for (int", "grid")
    )


def test_python_highlighting_resumes_after_kernel_strings(line_scopes):
    assert any("string" in scope for scope in scopes_of_word(line_scopes, "after =", "return 1"))
    assert any(
        "docstring" in scope for scope in scopes_of_word(line_scopes, "A docstring", "docstring")
    )
    assert any(
        scope.startswith("storage.type.class")
        for scope in scopes_of_word(line_scopes, "class Kernels", "class")
    )
    assert any(
        "docstring" in scope for scope in scopes_of_word(line_scopes, "None of ours", "None")
    )
    assert any("docstring" in scope for scope in scopes_of_word(line_scopes, "text;", "text"))


def test_extension_folder_can_be_installed(tmp_path, capsys):
    assert PACKAGE["version"] == numbalite.__version__
    assert GRAMMAR["scopeName"] == json.loads(OURS.read_text())["scopeName"]
    (tmp_path / "numbalite.numbalite-strings-0.0.1").mkdir()  # an older one
    assert editor.main(["--vscode", str(tmp_path)]) == 0
    (path,) = tmp_path.iterdir()
    assert capsys.readouterr().out.strip() == str(path)
    assert path.name == f"numbalite.numbalite-strings-{numbalite.__version__}"
    assert (path / GRAMMAR["path"]).is_file() and (path / "README.md").is_file()
