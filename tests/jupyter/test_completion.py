"""Tests completion of C++ in cells and in the strings of kernels, through IPython's interface."""

import pytest


@pytest.fixture
def complete_text(ipython_shell):
    """Returns complete_text(text), where | is the cursor; it returns the texts that a front end would show."""
    from IPython.core.completer import provisionalcompleter

    ipython_shell.run_cell(
        "WIDTH = 3\nWIDE = cuda.to_device\n@cuda.jit(device=True)\ndef widen(x):\n    'return x;'"
    )

    def completions_of(text):
        at = text.index("|")
        whole = text[:at] + text[at + 1 :]
        with provisionalcompleter():
            found = list(ipython_shell.Completer.completions(whole, at))
        return [whole[: c.start] + c.text + whole[c.end :] for c in found if c.type == "c++"], found

    return completions_of


CELL = "%%cuda\n__global__ void scale(float *values, int n) {\n"


def completion_texts(found):
    return [c.text for c in found]


def test_names_in_cuda_cells_are_completed(complete_text):
    filled, found = complete_text(CELL + "    __syncth|\n}")
    assert completion_texts(found) == [
        "__syncthreads",
        "__syncthreads_and",
        "__syncthreads_count",
        "__syncthreads_or",
    ]
    assert filled[0] == CELL + "    __syncthreads\n}"
    assert completion_texts(complete_text(CELL + "    threadIdx.|\n}")[1]) == ["x", "y", "z"]
    assert completion_texts(complete_text(CELL + "    values[3].si|\n}")[1]) == ["size()"]
    assert completion_texts(complete_text(CELL + "    val|\n}")[1]) == ["values"]
    assert completion_texts(complete_text(CELL + "    wi|\n}")[1]) == ["widen"]
    assert completion_texts(complete_text(CELL + "    WID|\n}")[1]) == ["WIDTH"], (
        "functions of Python's are no names of C++"
    )
    assert completion_texts(complete_text(CELL + "    xoroshiro128p_uni|\n}")[1]) == [
        "xoroshiro128p_uniform_float32", "xoroshiro128p_uniform_float64",
    ]  # fmt: skip


def test_names_in_kernel_strings_are_completed(complete_text):
    above = '@cuda.jit\ndef k(x):\n    """\n    int column = 0;\n'
    assert completion_texts(complete_text(above + '    col|\n    """')[1]) == ["column"]
    assert completion_texts(complete_text('k = cuda.jit(source=r"""\n__glo|""")')[1]) == [
        "__global__"
    ]


def test_python_code_is_left_to_ipython(complete_text):
    for text in (
        'def f():\n    """\n    __syncth|\n    """',
        '@cuda.jit\ndef k(x):\n    """x;"""\n\n__syncth|',
        "__syncth|",
        "%%cuda --ful|",
    ):
        assert complete_text(text)[0] == [], text
    assert any(c.text.endswith("to_device") for c in complete_text("cuda.to_dev|")[1])


def test_the_completer_is_removed_with_the_extension(ipython_shell, complete_text):
    assert complete_text(CELL + "__syncth|")[0]
    ipython_shell.run_line_magic("load_ext", "numbalite")
    ipython_shell.run_line_magic("unload_ext", "numbalite")
    assert not complete_text(CELL + "__syncth|")[0]
    ipython_shell.run_line_magic("load_ext", "numbalite")
