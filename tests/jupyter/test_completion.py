"""Completion of C++ in cells and in the strings of kernels, through IPython's interface."""

import pytest


@pytest.fixture
def complete(shell):
    """Returns complete(text), where | is the cursor; it returns the texts that a front end would show."""
    from IPython.core.completer import provisionalcompleter

    shell.run_cell(
        "WIDTH = 3\nWIDE = cuda.to_device\n@cuda.jit(device=True)\ndef widen(x):\n    'return x;'"
    )

    def ask(text):
        at = text.index("|")
        whole = text[:at] + text[at + 1 :]
        with provisionalcompleter():
            found = list(shell.Completer.completions(whole, at))
        return [whole[: c.start] + c.text + whole[c.end :] for c in found if c.type == "c++"], found

    return ask


CELL = "%%cuda\n__global__ void scale(float *values, int n) {\n"


def completion_texts(found):
    return [c.text for c in found]


def test_names_in_cuda_cells_are_completed(complete):
    filled, found = complete(CELL + "    __syncth|\n}")
    assert completion_texts(found) == [
        "__syncthreads",
        "__syncthreads_and",
        "__syncthreads_count",
        "__syncthreads_or",
    ]
    assert filled[0] == CELL + "    __syncthreads\n}"
    assert completion_texts(complete(CELL + "    threadIdx.|\n}")[1]) == ["x", "y", "z"]
    assert completion_texts(complete(CELL + "    values[3].si|\n}")[1]) == ["size()"]
    assert completion_texts(complete(CELL + "    val|\n}")[1]) == ["values"]
    assert completion_texts(complete(CELL + "    wi|\n}")[1]) == ["widen"]
    assert completion_texts(complete(CELL + "    WID|\n}")[1]) == ["WIDTH"], (
        "functions of Python's are no names of C++"
    )
    assert completion_texts(complete(CELL + "    xoroshiro128p_uni|\n}")[1]) == [
        "xoroshiro128p_uniform_float32", "xoroshiro128p_uniform_float64",
    ]  # fmt: skip


def test_names_in_kernel_strings_are_completed(complete):
    above = '@cuda.jit\ndef k(x):\n    """\n    int column = 0;\n'
    assert completion_texts(complete(above + '    col|\n    """')[1]) == ["column"]
    assert completion_texts(complete('k = cuda.jit(source=r"""\n__glo|""")')[1]) == ["__global__"]


def test_python_code_is_left_to_ipython(complete):
    for text in (
        'def f():\n    """\n    __syncth|\n    """',
        '@cuda.jit\ndef k(x):\n    """x;"""\n\n__syncth|',
        "__syncth|",
        "%%cuda --ful|",
    ):
        assert complete(text)[0] == [], text
    assert any(c.text.endswith("to_device") for c in complete("cuda.to_dev|")[1])


def test_the_completer_is_removed_with_the_extension(shell, complete):
    assert complete(CELL + "__syncth|")[0]
    shell.run_line_magic("load_ext", "numbalite")
    shell.run_line_magic("unload_ext", "numbalite")
    assert not complete(CELL + "__syncth|")[0]
    shell.run_line_magic("load_ext", "numbalite")
