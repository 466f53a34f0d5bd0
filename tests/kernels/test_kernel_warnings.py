"""Tests KernelWarning: its position, its filters, and the code for which it is issued."""

import importlib.util
import itertools
import os
import pathlib
import pickle
import random
import sys
import textwrap
import warnings

import numpy as np
import pytest
from kit.sample import VARIABLE

import numbalite
from numbalite import compilers, cuda
from numbalite.compilers import host
from numbalite.compilers.hostbuild import identify_compiler
from numbalite.errors import CompileError, KernelWarning, NumbaliteWarning

KERNEL = '''
from numbalite import cuda

@cuda.jit
def halves(x, out):
    """
    int i = grid<1>();
    out[i] = 1/2 * x[i];
    """
'''
count = itertools.count()


@pytest.fixture
def load_text(tmp_path, monkeypatch):
    """load_text(text) -> a module of its own, from a file."""

    def load_module(text):
        name = f"warned_{next(count)}"
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load_module


def input_and_output_arrays():
    return np.ones(4, np.float32), np.full(4, 7, np.float32)


def kernel_warnings_of(do):
    """Returns the KernelWarnings of a call."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        do()
    return [one for one in found if one.category is KernelWarning]


def test_the_warning_is_at_the_users_line(load_text):
    module = load_text(KERNEL)
    x, out = input_and_output_arrays()
    (found,) = kernel_warnings_of(lambda: module.halves[1, 4](x, out))
    assert (found.filename, found.lineno) == (module.__file__, 8)
    message = found.message
    assert (message.file, message.line) == (found.filename, 8)
    assert "write 1.0f/2" in message.text and "out[i] = 1/2 * x[i];" in message.shown
    assert str(message) == "\n    ".join([message.text, *message.shown.split("\n")])
    assert (out == 0).all()


def test_the_class_is_a_warning_of_numbalite():
    assert numbalite.KernelWarning is KernelWarning
    assert issubclass(KernelWarning, NumbaliteWarning)
    found = pickle.loads(pickle.dumps(KernelWarning("text", "k.py", 3, "line")))
    assert (found.text, found.file, found.line, found.shown) == ("text", "k.py", 3, "line")


def test_a_compilation_warns_once(load_text):
    module = load_text(KERNEL)
    x, out = input_and_output_arrays()
    d = cuda.to_device(x), cuda.to_device(out)

    def launch_repeatedly():
        for _ in range(3):
            module.halves[1, 4](*d)
            module.halves[2, 2](*d)

    assert len(kernel_warnings_of(launch_repeatedly)) == 1
    doubles = np.ones(4), np.ones(4)
    assert len(kernel_warnings_of(lambda: module.halves[1, 4](*doubles))) == 1


def test_the_default_filter_shows_a_line_once(load_text):
    module = load_text(KERNEL)
    with warnings.catch_warnings(record=True) as found:
        warnings.resetwarnings()
        warnings.simplefilter("default")
        module.halves[1, 4](*input_and_output_arrays())
        module.halves[1, 4](np.ones(4), np.ones(4))
    assert [one.lineno for one in found if one.category is KernelWarning] == [8]


@pytest.mark.parametrize(
    "filters",
    [
        {"category": KernelWarning},
        {"category": NumbaliteWarning},
        {"category": UserWarning, "lineno": 8},
        {"message": ".*divides integers"},
        {"module": "warned_"},
    ],
    ids=lambda filters: "-".join(filters),
)
def test_filters_select_by_category_line_message_and_module(load_text, filters):
    module = load_text(KERNEL)

    def launch_with_filters():
        warnings.filterwarnings("ignore", **filters)
        module.halves[1, 4](*input_and_output_arrays())

    assert kernel_warnings_of(launch_with_filters) == []


def test_a_filter_for_another_line_or_module_does_not_hide_it(load_text):
    module = load_text(KERNEL)

    def launch_with_other_filters():
        warnings.filterwarnings("ignore", category=KernelWarning, lineno=7)
        warnings.filterwarnings("ignore", category=KernelWarning, module="another")
        module.halves[1, 4](*input_and_output_arrays())

    assert len(kernel_warnings_of(launch_with_other_filters)) == 1


def test_kernel_warning_as_an_error_prevents_the_launch(load_text):
    module = load_text(KERNEL)
    x, out = input_and_output_arrays()
    with warnings.catch_warnings():
        warnings.simplefilter("error", KernelWarning)
        for _ in range(2):
            with pytest.raises(KernelWarning, match="write 1.0f/2") as found:
                module.halves[1, 4](x, out)
            assert str(found.value).startswith(f"{module.__file__}(8): 1/2 divides")
    cuda.synchronize()
    assert (out == 7).all()
    assert len(kernel_warnings_of(lambda: module.halves[1, 4](x, out))) == 1
    assert (out == 0).all()


def test_kernel_warning_as_an_error_prevents_compilation(load_text):
    text = KERNEL.replace("cuda.jit", 'cuda.jit("void(float32[:], float32[:])")')
    with warnings.catch_warnings():
        warnings.simplefilter("error", KernelWarning)
        with pytest.raises(KernelWarning, match="write 1.0f/2"):
            load_text(text)


def test_a_kernel_from_the_disk_cache_warns_again(run_python, tmp_path, disabled_checks):
    file = tmp_path / "program.py"
    file.write_text(
        KERNEL
        + """
import numpy as np
from numbalite import compilers
halves[1, 4](np.ones(4, np.float32), np.ones(4, np.float32))
print(compilers.compile_count())
"""
    )
    import_it = "import program"
    path = f"{tmp_path}:{pathlib.Path(numbalite.__file__).parents[1]}"
    first, second = (run_python(import_it, PYTHONPATH=path) for _ in range(2))
    assert (first.stdout, second.stdout) == ("1\n", "0\n")
    for result in (first, second):
        rows = [row for row in result.stderr.split("\n") if "simulator" not in row]
        head = f"{file}:8: KernelWarning: 1/2 divides integers, which gives 0: write 1.0f/2"
        assert rows[rows.index(head) + 1].strip() == "out[i] = 1/2 * x[i];"
        assert result.stderr.count("1/2 * x[i]") == 1


KINDS = {
    "a device function": (
        """
from numbalite import cuda

@cuda.jit(device=True)
def half(x):
    "return 1/2 * x;"

@cuda.jit
def k(x, out):
    "out[threadIdx.x] = half(x[threadIdx.x]);"

def call(x, out):
    k[1, 4](x, out)
""",
        6,
    ),
    "vectorize": (
        """
from numbalite import vectorize

@vectorize(["float32(float32)"], target="cuda")
def half(x):
    "return 1/2 * x;"

def call(x, out):
    half(x, out=out)
""",
        6,
    ),
    "vectorize without signatures": (
        """
from numbalite import vectorize

@vectorize(target="cuda")
def half(x):
    "1/2 * x"

def call(x, out):
    half(x, out=out)
""",
        6,
    ),
    "guvectorize": (
        '''
from numbalite import guvectorize

@guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
def half(x, out):
    """
    for (int i = 0; i < x.size(); ++i)
        out[i] = 1/2 * x[i];
    """

def call(x, out):
    half(x, out)
''',
        8,
    ),
    "a reduction": (
        """
from numbalite import cuda

@cuda.reduce
def total(a, b):
    "return a + b + 1/2 * a;"

def call(x, out):
    total(x)
""",
        6,
    ),
    "vectorize for the CPU": (
        """
from numbalite import vectorize

def call(x, out):
    @vectorize(["float32(float32)"], target="cpu")
    def half(x):
        "return 1/2 * x;"
    half(x)
""",
        7,
    ),
    "jit for the CPU": (
        """
from numbalite import jit

@jit
def half(x):
    "return 1/2 * x;"

def call(x, out):
    half(0.5)
""",
        6,
    ),
    "a module": (
        '''
from numbalite import cuda

SOURCE = r"""
// A comment of several
// lines.
__global__ void k(const float *x, float *out) {
    out[threadIdx.x] = 1/2 * x[threadIdx.x];
}
"""

def call(x, out):
    cuda.module(SOURCE).k[1, 4](x, out)
''',
        8,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_string_code_warns(load_text, kind):
    text, line = KINDS[kind]

    def call_and_load():
        module = load_text(text)
        module.call(*input_and_output_arrays())
        return module

    found = kernel_warnings_of(call_and_load)
    assert found and {(pathlib.Path(one.filename).parent.name, one.lineno) for one in found} == {
        (pathlib.Path(found[0].filename).parent.name, line)
    }
    assert all("write 1.0f/2" in str(one.message) for one in found)


def test_warning_about_a_source_file_names_the_file(tmp_path):
    file = tmp_path / "k.cu"
    (tmp_path / "own.cuh").write_text("__device__ float part(float x) { return 1/2 * x; }\n")
    file.write_text(
        '#include "own.cuh"\n__global__ void k(float *x) {\n    x[0] = part(x[1]);\n    if (x[0] > 0);\n}\n'
    )
    (found,) = kernel_warnings_of(lambda: cuda.module(file))
    assert (found.filename, found.lineno) == (str(file), 4)


def test_a_wrong_number_of_indices_is_an_error(load_text):
    text = KERNEL.replace("1/2 * x[i]", "x[i, 0]")
    module = load_text(text)
    with pytest.raises(
        CompileError, match=r"x\[i, 0\] has 2 indices.*x has one dimension: write x\[i\]"
    ) as found:
        module.halves[1, 4](*input_and_output_arrays())
    assert f"{module.__file__}(8): error" in str(found.value)
    assert "x(i, 0)" not in str(found.value)


def test_wrong_number_of_indices_in_a_device_function_is_an_error():
    @cuda.jit(device=True)
    def element_2d(x, i, j):
        "return x[i, j];"

    @cuda.jit
    def call_element_2d(x, out):
        "out(0, 0) = element_2d(x, 0, 1);"

    x = np.ones((2, 2))
    with pytest.raises(CompileError, match=r"write x\(i, j\) for 2, x\[i\] for one"):
        call_element_2d[1, 1](x, x.copy())


def test_captured_numbers_are_checked_as_divisors():
    PARTS = 3

    @cuda.jit
    def scale_by_parts(x):
        "x[0] *= 1/PARTS;"

    (found,) = kernel_warnings_of(lambda: scale_by_parts[1, 1](np.ones(1)))
    assert "1/PARTS divides integers, which gives 0: write 1.0f/PARTS" in str(found.message)


def test_code_excluded_by_the_preprocessor_is_not_searched():
    source = "#if 0\n__device__ float f(float x) { return 1/2 * x; }\n#endif\n__global__ void k(float *x) { x[0] = 1; }"
    assert kernel_warnings_of(lambda: cuda.module(source)) == []


def test_library_kernels_do_not_warn():
    source = compilers.Source(
        '#include "numbalite.cuh"\n__global__ void k(float *x) { x[0] = 1/2 * x[1]; }'
    )
    assert source.users == ()


# ---- several signatures

UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SIGNED = ("int8", "int32", "int64", "float32", "float64")
BY_SIGNATURES = {
    "ufunc": """
        @vectorize([f"{{t}}({{t}})" for t in {types}], target={target!r})
        def f(x):
            "return x < 0 ? -x : x;"
    """,
    "ufunc in Python": """
        @vectorize([f"{{t}}({{t}})" for t in {types}], target={target!r})
        def f(x):
            if x < 0:
                return -x
            return x
    """,
    "generalized ufunc": """
        @guvectorize([f"void({{t}}[:], {{t}}[:])" for t in {types}], "(n)->()", target={target!r})
        def f(x, out):
            '''
            out[0] = 0;
            for (int i = 0; i < x.size(); i++) if (x[i] < 0) out[0] += 1;
            '''
    """,
    "function": """
        @jit([f"{{t}}({{t}})" for t in {types}])
        def f(x):
            "return x < 0 ? -x : x;"
    """,
    "kernel": """
        @cuda.jit([f"void({{t}}[:])" for t in {types}])
        def f(x):
            "if (x[threadIdx.x] < 0) x[threadIdx.x] = 0;"
    """,
}


@pytest.mark.parametrize("kind", BY_SIGNATURES)
@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_mistakes_in_one_of_several_signatures_do_not_warn(load_text, kind, target):
    """x < 0 is always false for unsigned integers, but useful if another signature has signed
    numbers."""
    draw = random.Random(f"{os.environ[VARIABLE]} {kind} {target}")
    is_gcc = identify_compiler(host.find_compiler()).family == "gcc"
    unsigned = UNSIGNED[2:] if is_gcc else UNSIGNED  # g++ does not warn of promoted operands
    same = draw.sample(unsigned, min(draw.randrange(2, 4), len(unsigned)))
    mixed = [*draw.sample(unsigned, draw.randrange(1, 3)), draw.choice(SIGNED)]
    draw.shuffle(mixed)
    imports = "from numbalite import cuda, guvectorize, jit, vectorize\n"
    for types, expected in [(same, 1), (mixed, 0), (mixed[:1], mixed[0] in UNSIGNED)]:
        text = textwrap.dedent(BY_SIGNATURES[kind].format(types=types, target=target))
        found = kernel_warnings_of(lambda text=text: load_text(imports + text))
        if (kind, target) == ("generalized ufunc", "cuda") and cuda.is_simulated():
            expected = 0  # in templates, host compilers do not warn about mixed types; NVRTC does
        texts = [str(one.message) for one in found]
        assert len({one.lineno for one in found}) == expected, (types, texts)


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_mistakes_for_one_type_warn_with_several_signatures(target):
    def make_ufunc():
        @numbalite.vectorize(["int64(int64)", "int32(int32)"], target=target)
        def overflowing_shift(x):
            "return x + (x << 40) + (1 << 40);"

    assert len(kernel_warnings_of(make_ufunc)) >= 1


def test_mistakes_in_one_device_function_signature_do_not_warn():
    @cuda.jit(["uint8(uint8)", "float32(float32)"], device=True)
    def magnitude(x):
        "return x < 0 ? -x : x;"

    @cuda.jit(["float32(int32, int32)", "float32(float32, float32)"], device=True)
    def integer_ratio(i, n):
        "float u = i / n; return u;"

    @cuda.jit(["uint8(uint8)", "uint32(uint32)"], device=True)
    def unsigned_magnitude(x):
        "return x < 0 ? -x : x;"

    @cuda.jit
    def call_device_functions(x, out):
        "out[0] = magnitude(x[0]) + integer_ratio(1.0f, 2.0f);"

    @cuda.jit
    def call_unsigned_magnitude(x, out):
        "out[0] = unsigned_magnitude(x[0]);"

    x, out = np.ones(1, np.uint8), np.zeros(1, np.float32)
    assert kernel_warnings_of(lambda: call_device_functions[1, 1](x, out)) == []
    assert out[0] == 1.5
    assert len(kernel_warnings_of(lambda: call_unsigned_magnitude[1, 1](x, out))) == 1
