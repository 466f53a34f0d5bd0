"""Maps modules of numba to modules of numbalite, and contains messages for modules without a replacement."""

from __future__ import annotations

# numba's module -> numbalite's. Modules of numba that are not listed here do not exist.
MODULES = {
    "numba": "numbalite.numba.top",
    "numba.config": "numbalite.config",
    "numba.core.config": "numbalite.config",
    "numba.core.errors": "numbalite.cuda.core.errors",
    "numba.core.decorators": "numbalite.numba.decorators",
    "numba.core.dispatcher": "numbalite.numba.dispatchers",
    "numba.core.extending": "numbalite.numba.extending",
    "numba.core.registry": "numbalite.numba.dispatchers",
    "numba.core.types": "numbalite.types",
    "numba.cuda.api": "numbalite.cuda",
    "numba.cuda.decorators": "numbalite.cuda",
    "numba.cuda.dispatcher": "numbalite.numba.dispatchers",
    "numba.cuda.kernels.reduction": "numbalite.cuda",
    "numba.cuda.stubs": "numbalite.cuda",
    "numba.decorators": "numbalite.numba.decorators",
    "numba.dispatcher": "numbalite.numba.dispatchers",
    "numba.extending": "numbalite.numba.extending",
    "numba.np.ufunc": "numbalite.numba.ufunc",
    "numba.np.ufunc.decorators": "numbalite.numba.ufunc",
    "numba.np.ufunc.dufunc": "numbalite.numba.ufunc",
    "numba.np.ufunc.gufunc": "numbalite.numba.ufunc",
    "numba.np.ufunc.parallel": "numbalite.numba.ufunc",
    "numba.npyufunc": "numbalite.numba.ufunc",
    "numba.cuda": "numbalite.cuda",
    "numba.cuda._internal.cuda_bf16": "numbalite.numba.bfloat",
    "numba.cuda.bf16": "numbalite.numba.bfloat",
    "numba.cuda.compiler": "numbalite.kernels.ahead",
    "numba.cuda.core": "numbalite.cuda.core",
    "numba.cuda.core.config": "numbalite.config",
    "numba.cuda.core.errors": "numbalite.cuda.core.errors",
    "numba.cuda.core.types": "numbalite.types",
    "numba.cuda.cudadrv": "numbalite.cuda.cudadrv",
    "numba.cuda.cudadrv.devicearray": "numbalite.cuda.cudadrv.devicearray",
    "numba.cuda.cudadrv.devices": "numbalite.cuda.cudadrv.devices",
    "numba.cuda.cudadrv.driver": "numbalite.cuda.cudadrv.driver",
    "numba.cuda.cudadrv.error": "numbalite.cuda.cudadrv.error",
    "numba.cuda.cudadrv.libs": "numbalite.cuda.cudadrv.libs",
    "numba.cuda.cudadrv.linkable_code": "numbalite.cuda.cudadrv.linkable_code",
    "numba.cuda.cudadrv.nvvm": "numbalite.cuda.cudadrv.nvvm",
    "numba.cuda.cudadrv.runtime": "numbalite.cuda.cudadrv.runtime",
    "numba.cuda.kernels.transpose": "numbalite.numba.transpose",
    "numba.cuda.libdevice": "numbalite.cuda.libdevice",
    "numba.cuda.libdevicefuncs": "numbalite.numba.libdevicefuncs",
    "numba.cuda.misc.special": "numbalite.numba.special",
    "numba.cuda.np.numpy_support": "numbalite.numba.numpysupport",
    "numba.cuda.random": "numbalite.cuda.random",
    "numba.cuda.testing": "numbalite.numba.testing",
    "numba.cuda.types": "numbalite.types",
    "numba.cuda.vector_types": "numbalite.numba.vectortypes",
    "numba.core.utils": "numbalite.numba.utils",
    "numba.core.typing": "numbalite.numba.typing",
    "numba.core.typing.typeof": "numbalite.numba.typeof",
    "numba.cuda.typing": "numbalite.numba.typing",
    "numba.cuda.typing.typeof": "numbalite.numba.typeof",
    "numba.cuda.args": "numbalite.numba.args",
    "numba.errors": "numbalite.cuda.core.errors",
    "numba.misc.special": "numbalite.numba.special",
    "numba.np.numpy_support": "numbalite.numba.numpysupport",
    "numba.tests.support": "numbalite.numba.testing",
    "numba.types": "numbalite.types",
}

NUMBAS = {ours: numbas for numbas, ours in sorted(MODULES.items(), key=lambda m: -len(m[0]))}
"""numbalite's module -> the shortest name among numba's modules that it stands for."""

FOLDERS = (
    "numba.cuda._internal",
    "numba.cuda.kernels",
    "numba.core",
    "numba.cuda.misc",
    "numba.cuda.np",
    "numba.misc",
    "numba.np",
    "numba.tests",
)
"""Packages of numba that are nothing but the place of others."""

_PYTHON_ONLY = "numbalite compiles kernels and functions of numbers and arrays"

# Names of numba without a replacement -> what to use instead.
INSTEAD = {
    "cfunc": "a pointer to compiled code cannot be had; ctypes makes callbacks of Python functions",
    "cgutils": "numbalite has no LLVM IR; a device function may be written in CUDA C++",
    "experimental": f"{_PYTHON_ONLY}; keep what a jitclass holds in arrays or in a record",
    "gdb": "python -m numbalite gdb runs a program under gdb, its kernels on the simulator",
    "gdb_init": "python -m numbalite gdb runs a program under gdb, its kernels on the simulator",
    "generated_jit": "numba has removed it; write a function for each type, or a template in CUDA C++",
    "jitclass": f"{_PYTHON_ONLY}; keep what the class holds in arrays or in a record",
    "literally": "captured variables are constants of the code already",
    "objmode": f"{_PYTHON_ONLY}; call Python code before or after the compiled function",
    "overload": f"{_PYTHON_ONLY}; what is missing in it can be written in CUDA C++, as a string",
    "pycc": "numbalite.cuda.compile gives PTX and cubins ahead of time",
    "roc": "numbalite is for NVIDIA's GPUs",
    "stencil": "write the loop over the neighbours, as a kernel or as a guvectorize",
    "ListType": f"{_PYTHON_ONLY}; use an array",
    "DictType": f"{_PYTHON_ONLY}; use an array of keys and one of values",
    "List": f"{_PYTHON_ONLY}; use an array, or a tuple",
    "Dict": f"{_PYTHON_ONLY}; use an array of keys and one of values",
    "Set": f"{_PYTHON_ONLY}; use a sorted array",
    "unicode_type": f"{_PYTHON_ONLY}; pass a number that stands for the text, or an array of uint8",
    "pyobject": f"{_PYTHON_ONLY}; pass its numbers and arrays",
    "deferred_type": f"{_PYTHON_ONLY}; keep indices in the place of references",
    "intrinsic": "numbalite has no LLVM IR; a device function may be written in CUDA C++",
    "overload_method": f"{_PYTHON_ONLY}; write a function, in Python or in CUDA C++",
    "overload_attribute": f"{_PYTHON_ONLY}; write a function, in Python or in CUDA C++",
    "pndindex": "write a loop over prange for each axis",
    "gdb_breakpoint": "python -m numbalite gdb runs a program under gdb, its kernels on the simulator",
    "get_thread_id": "write into an element of an array for each iteration of prange",
    "parallel_chunksize": "numbalite divides prange loops itself",
    "set_parallel_chunksize": "numbalite divides prange loops itself",
    "get_parallel_chunksize": "numbalite divides prange loops itself",
    "simulator": "NUMBALITE_DRIVER=sim, or NUMBA_ENABLE_CUDASIM=1, runs kernels on the simulator",
    "typed": f"{_PYTHON_ONLY}; use an array in the place of a list, and an array of keys in a dict's",
}


def missing_module(name: str) -> str:
    """Returns the message about a module of numba that numbalite does not have."""
    return _hint_message(f"no module {name!r}", name.split("."))


def missing_name(module: str, name: str) -> str:
    """Returns the message about a name that numbalite's version of a numba module does not have."""
    return _hint_message(f"{module!r} has no {name!r}", [name])


_COMPILER = (
    "it is part of numba's compiler, which numbalite does not have; a program that extends the compiler "
    "needs numba itself"
)
_OTHERWISE = "if the program needs it, run it with numba itself"


def _hint_message(what, words):
    instead = next((INSTEAD[word] for word in words if word in INSTEAD), "")
    if not instead:
        inner = any(
            word in what for word in ("numba.core", "numba.parfors", "numba.cuda.", "numba.np")
        )
        instead = _COMPILER if inner else _OTHERWISE
    return f"{what}: numba is numbalite here; {instead}"
