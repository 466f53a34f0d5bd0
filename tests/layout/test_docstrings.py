"""Checks docstrings in numpydoc's form: the sections are in order and describe every parameter and the
result."""

import ast
import re

import pytest

from .test_layout import ROOT, relative_name

TITLES = ("Parameters", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes", "Examples")
TITLE = re.compile(r"^(\S.*)\n(-{3,})$", re.M)
NAMES = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .*)?$", re.M)
VERB = re.compile(r"[A-Z][a-z-]*s ")

# The functions and classes whose docstrings must have sections.
CONVERTED = {
    "algorithms/by_key.py": "ReduceByKey",
    "algorithms/histogram.py": "Histogram",
    "algorithms/scan.py": "Scan",
    "algorithms/select.py": "Select Partition",
    "algorithms/sort.py": "Sort topk",
    "course/assessment.py": "exercise",
    "course/catalogue.py": "exercises",
    "course/checked.py": "examine",
    "course/device.py": "where stamp size",
    "course/judging.py": "assess judge",
    "course/tasks.py": "check",
    "course/timing.py": "timed",
    "cpu/jit.py": "jit seed",
    "cuda/random.py": "seed init_xoroshiro128p_states create_xoroshiro128p_states",
    "functions/creation.py": "empty zeros ones full eye arange linspace",
    "jax/calls.py": "call",
    "judge/guarded.py": "unwritten",
    "judge/taskfile.py": "task",
    "kernels/ahead.py": """
        compile compile_ptx compile_all compile_for_current_device
        compile_ptx_for_current_device
    """,
    "kernels/compiled.py": "compile",
    "kernels/decorators.py": "jit module",
    "kernels/dispatcher.py": "configure profile forall specialize occupancy",
    "kernels/foreign.py": "declare_device",
    "kernels/module.py": "get_global",
    "linalg/epilogue.py": "matmul",
    "ndarray/arrays.py": """
        to_device device_array_like In Out InOut copy_to_host copy_to_device fill copy
        astype
    """,
    "ndarray/exchange.py": "from_dlpack",
    "ndarray/foreign.py": "as_cuda_array from_cuda_array_interface",
    "ndarray/hostarrays.py": """
        pinned_array pinned_array_like mapped_array mapped_array_like managed_array pinned
        mapped prefetch advise
    """,
    "ndarray/textures.py": "texture surface",
    "numba/__init__.py": "install",
    "operators/__init__.py": "operation",
    "profiler/session.py": "profile",
    "random/generator.py": "default_rng spawn random uniform integers bytes standard_normal",
    "runtime/checks.py": "checks",
    "runtime/devices.py": """
        cuda_error is_simulated is_available is_supported_version list_devices select_device
        set_default_device get_current_device current_context is_float16_supported
        is_bfloat16_supported is_fp8_supported require_context synchronize defer_cleanup
        profiling detect
    """,
    "runtime/ipc.py": "ipc_array open_ipc_array",
    "runtime/limits.py": "limit",
    "runtime/managers.py": "set_memory_manager",
    "runtime/memory.py": "memory_pool host_memory_pool",
    "runtime/rawmemory.py": "is_cuda_array",
    "runtime/streams.py": """
        stream default_stream legacy_default_stream per_thread_default_stream
        external_stream event event_elapsed_time capture priority_range auto_synchronize
        add_callback async_done
    """,
    "runtime/threads.py": "set_num_threads get_num_threads",
    "sparse/building.py": "eye_array diags_array random_array",
    "sparse/construct.py": "issparse",
    "sparse/formats.py": "spsolve_triangular",
    "sparse/joining.py": "vstack hstack block_array block_diag kron kronsum tril triu find",
    "sparse/linalg.py": "cg",
    "torch/operator.py": "operator",
    "tuning/tuned.py": "autotune",
    "types/__init__.py": "from_dtype const typeof",
    "types/tolerance.py": "tolerance",
    "ufuncs/cudaufunc.py": "derivative jvp vjp defvjp",
    "ufuncs/decorators.py": "vectorize cuda_vectorize guvectorize cuda_guvectorize",
    "ufuncs/fuse.py": "fuse",
    "ufuncs/reduction.py": "Reduce",
}


PACKAGE = ROOT / "numbalite"
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if "----\n" in path.read_text()]


def documented_functions(path):
    """Yields (function or class, docstring) of the docstrings with sections in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            doc = ast.get_docstring(node)
            if doc and TITLE.search(doc):
                yield node, doc


def parameter_names(node):
    """Returns the names of the parameters of a function, or of the constructor of a class."""
    if isinstance(node, ast.ClassDef):
        made = [one for one in node.body if getattr(one, "name", "") == "__init__"]
        if not made:
            return None
        (node,) = made
    of = node.args
    every = (*of.posonlyargs, *of.args, of.vararg, *of.kwonlyargs, of.kwarg)
    return [one.arg for one in every if one is not None and one.arg != "self"]


@pytest.mark.parametrize("path", FILES, ids=map(relative_name, FILES))
def test_docstring_sections_are_valid_numpydoc(path):
    for node, doc in documented_functions(path):
        check_sections(node, doc)
    wanted = CONVERTED.get(path.relative_to(PACKAGE).as_posix(), "").split()
    assert set(wanted) <= {node.name for node, _ in documented_functions(path)}


def check_sections(node, doc):
    titles = TITLE.findall(doc)
    assert [title for title, _ in titles] == [one for one in TITLES if one in dict(titles)]
    assert all(len(title) == len(line) for title, line in titles)
    assert VERB.match(doc), f"{node.name}: the summary begins with a verb: Returns, Makes, ..."
    assert re.match(r".*[.`)](\n\n|$)", doc), f"{node.name}: the summary is one line"
    text = doc.partition("\nExamples\n---")[0]
    assert max(map(len, text.splitlines())) <= 76, "help() has 4 columns more, of 80"
    listed = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\S|\Z)", doc, re.M | re.S)
    described = NAMES.findall(listed[1]) if listed else []
    described = [one.lstrip("*") for row in described for one in row.split(", ")]
    expected = parameter_names(node)
    if expected is not None:
        assert sorted(described) == sorted(expected), f"{node.name}: the parameters"
    returned = getattr(node, "returns", None)
    if returned is not None and ast.unparse(returned) != "None":
        assert {"Returns", "Yields"} & set(dict(titles)), (
            f"{node.name}: the result is not described"
        )


def test_files_with_converted_docstrings_are_checked():
    assert {PACKAGE / file for file in CONVERTED} <= set(FILES)
