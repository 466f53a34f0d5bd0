"""The fuzzing targets: each is a function of bytes that must return for any input.

Documented exceptions are allowed; a crash, a hang, a failed assertion, a SystemError, or a leak is
a finding. Run by tests/fuzz/run.py, with libFuzzer or without.
"""

import collections
import ctypes
import gc
import os
import pathlib
import sys
import tempfile
import warnings

import files
import numpy as np
from source import FuzzSource, call_or_exception

from numbalite import _core, cuda, types
from numbalite.compilers import (
    cache,
    elf,
    hostlog,
    image,
)
from numbalite.compilers.sim import divisions, irpatch, translation
from numbalite.cxx import freenames, linemap, scanner
from numbalite.kernels import fault
from numbalite.types import demangle, describe, signatures
from numbalite.ufuncs import gusignature

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.dlpack import DLPackTensor, ManagedTensor, ManagedTensorVersioned

TARGETS = {}


def register_target(function):
    TARGETS[function.__name__.removeprefix("fuzz_")] = function
    return function


# ---- texts ----------------------------------------------------------------------------------------------

TYPE_TOKENS = (
    "void", "(", ")", "[", "]", "[:]", "[:,:]", "[::1]", ",", " ", "float32", "int64", "f4", "complex128",
    "bool_", "const ", "*", "::", ":", "1", "Tuple(", "UniTuple(", "Array(", "'C'", "record", "boolean",
    "uint8", "float16", "=", "->", ".", "array", "none", "CPointer(", "\n", "[:", "x" * 300, "Optional(", "types.",
)  # fmt: skip


@register_target
def fuzz_signature(data):
    """Parses signatures given as text or as lists of unusual objects; a parsed signature is
    formatted and parsed again."""
    s = FuzzSource(data)
    text = s.text(TYPE_TOKENS, 40)
    made, _ = call_or_exception(signatures.parse, text)
    if made is not None:
        assert signatures.parse(str(made)).args == made.args, (text, str(made))
    call_or_exception(signatures.parse_type, text)
    call_or_exception(
        signatures.signature, s.pick_item((text, [text], (text, 5), {text: 1}, None, types.float32))
    )
    call_or_exception(signatures.signatures, [text, text])
    signatures.is_signature(text)


LAYOUT_TOKENS = (
    "(", ")", ",", "->", "n", "m", "k", "1", "2", "?", "|", " ", "()", "(n)", "(n,m)", "-", ">", "0",
)  # fmt: skip


@register_target
def fuzz_layout(data):
    """Layouts of generalized ufuncs: NumPy accepts every signature that numbalite accepts, unless a reason is
    listed."""
    text = FuzzSource(data).text(LAYOUT_TOKENS)
    made, problem = call_or_exception(gusignature.parse_layout, text)
    assert made is not None or str(problem)


CODE_TOKENS = (
    "int ", "x", "y", "=", ";", "{", "}", "(", ")", "[", "]", "<", ">", "template", "class T", "__global__ ",
    "void ", "__device__ ", "__constant__ ", "\n", "#line 3 \"a.py\"\n", "#define A ", "#if 0\n", "#endif\n", "//",
    "/*", "*/", '"', "'", "\\", "R\"(", ")\"", "::", "namespace n", "using ", "auto ", "->", "return ", "...", "&", "*",
    ",", "0x1p3", "1'000", "operator", "extern \"C\" ", "__shared__ ", "[[", "]]", "->*", "%:", "\t", "struct s",
    "__launch_bounds__(", "sizeof", "for", "if", "else", "static_assert", "é", "#include <", "\r\n",
)  # fmt: skip


@register_target
def fuzz_code(data):
    """Passes random C++ text to all functions that read sources without a compiler."""
    s = FuzzSource(data)
    text = s.text(CODE_TOKENS, 120)
    tokens = scanner.tokenize(text)
    assert "".join(t.text for t in tokens).strip() or not text.strip() or True
    for question in (scanner.blank_comments, scanner.scan_source, scanner.functions, scanner.parameter_lists, scanner.has_kernel, scanner.find_broken_string,
                     freenames.free_names, translation.translate_source, hostlog.texts_by_line, hostlog.parse_messages):  # fmt: skip
        call_or_exception(question, text)
    call_or_exception(
        lambda: translation.translate_source(text, spared=divisions.unmarked_macros([text]))
    )
    call_or_exception(linemap.consecutive_text(text, "a.py").with_line_directives)
    call_or_exception(irpatch.rewrite_ir, text)
    call_or_exception(irpatch.rewrite_ir, text, checks=("memory", "unwritten", "nan"))


NAME_TOKENS = (
    "_Z", "N", "E", "I", "i", "f", "d", "L", "P", "K", "S_", "S0_", "T_", "4name", "9numbalite", "5array", "Li1E",
    "6kernel", "v", "St", "R", "C1", "J", "DpT_", "Dn", "M", "F", "A3_", "XadL", "NLDESC", "() [with index = 0; ",
    "numbalite::nl_kernel_description<", ">", ", ", "array<float, 1>", "]", "999999999",
)  # fmt: skip


@register_target
def fuzz_names(data):
    """Parses mangled names and descriptions that resemble compiler output."""
    text = FuzzSource(data).text(NAME_TOKENS, 60)
    for question in (demangle.demangle, describe.parameters, describe.variable):
        call_or_exception(question, text)


@register_target
def fuzz_records(data):
    """Parses the bytes of a fault record that a kernel may have written, and of images."""
    s = FuzzSource(data)
    raw = s.bytes(fault.SIZE).ljust(512, b"\0")
    found = fault.decode_record(raw)
    fault.name_array(found, [("x", found.get("address", 0), (3,), (4,), 4), ("y", 5)])
    assert fault.fault_message(found, "k")
    made, _ = call_or_exception(image.Image.from_bytes, s.remaining_bytes())
    if made is not None:
        assert image.Image.from_bytes(made.to_bytes()) == made


# ---- the disk cache --------------------------------------------------------------------------------------

KEY, IMAGE = files.KEY, files.IMAGE
_folder = None


@register_target
def fuzz_cached(data):
    """A damaged, foreign or odd file in the cache's folder is a miss, and is replaced by a valid
    one."""
    global _folder
    s = FuzzSource(data)
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="numbalite-fuzz-")
    os.environ["NUMBALITE_CACHE_DIR"] = _folder.name
    assert cache.store_image(KEY, IMAGE) and cache.load_image(KEY) == IMAGE
    (path,) = [
        os.path.join(_folder.name, n) for n in os.listdir(_folder.name) if n.endswith(".image")
    ]
    with open(path, "rb") as file:
        good = file.read()
    kind = s.integer_below(16)
    changed = s.remaining_bytes() if kind == 0 else s.mutate_bytes(good)
    if kind < 12:
        with open(path, "wb") as file:
            file.write(changed)
    else:
        os.unlink(path)
        if kind == 12:
            os.mkdir(path)
        elif kind == 13:
            os.symlink(os.path.join(_folder.name, "elsewhere"), path)
        elif kind == 14:
            with open(os.path.join(_folder.name, "other"), "wb") as file:
                file.write(good)
            os.symlink("other", path)
        else:
            os.mkfifo(path)
    found = cache.load_image(KEY)
    assert found is None or (kind < 12 and changed == good and found == IMAGE), kind
    cache.cache_usage()
    cache.trim_cache(0 if s.draw_flag(8) else 1 << 20)
    if kind == 12 and os.path.isdir(path):
        os.rmdir(path)
    assert cache.store_image(KEY, IMAGE) and cache.load_image(KEY) == IMAGE
    cache.clear_cache()


@register_target
def fuzz_folder(data):
    """Other programs' files in the cache folder are not deleted, even if their names resemble cache
    files or they are links."""
    files.read_cache_folder(data)


@register_target
def fuzz_headers(data):
    """Passes header names with any path, and sources that include the user's files: no user file is
    modified, and no file is written outside of numbalite's folder."""
    files.read_headers(data)


@register_target
def fuzz_pickles(data):
    """Loads damaged pickles of kernels, functions, types and handles: each raises an exception or
    returns an object that can be inspected; none compiles code."""
    files.load_pickles(data)


@register_target
def fuzz_handles(data):
    """Opens changed handles of another process's memory: each opens this memory or raises an
    error."""
    files.open_handles(data)


# ---- images ------------------------------------------------------------------------------------------------

_good_image = None


def _compiled_image():
    global _good_image
    if _good_image is None:
        from numbalite.compilers import compile_source
        from numbalite.compilers.source import Source

        source = '#include "numbalite.cuh"\n__device__ int v[3];\nextern "C" __global__ void k(int* x) { x[0] = 1; }'
        _good_image = compile_source(
            Source(source, kernels=("k",), variables=("v",)), ("sim",)
        ).data
    return _good_image


@register_target
def fuzz_images(data):
    """Tests images with broken headers, truncated images, and images of another kind. (Code that was changed
    would run.)"""
    s = FuzzSource(data)
    good = _compiled_image()
    kind = s.integer_below(4)
    if kind == 0:
        raw = s.remaining_bytes()
    elif kind == 1:
        raw = good[: int.from_bytes(s.bytes(3), "little") % len(good)]
    else:
        count = int.from_bytes(good[16 + 56 : 16 + 58], "little")
        head = 16 + 64 + 56 * count  # numbalite's magic, the ELF header, the program headers
        raw = s.mutate_bytes(good[:head], 3)[:head].ljust(head, b"\0") + good[head:]
    call_or_exception(elf.thread_local_variables, raw[16:])
    call_or_exception(elf.undefined_symbols, raw[16:])
    module, problem = call_or_exception(_core.Module, raw)
    if module is not None:
        call_or_exception(module.function, "nl_sim_kernel_0", "k", [])
        call_or_exception(module.variable, "nl_sim_variable_0", "i4", None)


# ---- descriptors of memory ---------------------------------------------------------------------------------


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_deleted = []
DELETER_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_deleter = DELETER_TYPE(lambda managed: _deleted.append(managed))
CAPSULES = (b"dltensor", b"dltensor_versioned", b"used_dltensor", b"", b"dltensor_versioned2")
_memory = []
_tensors = collections.deque(maxlen=1000)


def device_and_host_memory():
    """Returns 256 bytes of device memory and 256 bytes of host memory."""
    if not _memory:
        _memory.extend([cuda.to_device(np.arange(64, dtype="f4")), np.arange(64, dtype="f4")])
    return _memory


def pick_address(s):
    device, host = device_and_host_memory()
    base = device.__cuda_array_interface__["data"][0]
    return s.pick_item((base, base, base, base + 4, base + 252, base + 256, base - 4, host.ctypes.data, 0, 1,
                   2**47, 2**64 - 8, s.word(64, False)))  # fmt: skip


class DLPackSpeaker:
    """Speaks DLPack, not always well."""

    def __init__(self, s, capsule):
        self.device = s.pick_item(
            ((2, 0), (1, 0), (13, 0), (2, 77), (3, 0), (2**40, 0), (2,), None, (2, -1), "ab")
        )
        self.capsule = capsule

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        return self.capsule


def use_array(array, s):
    """Runs operations on an array whose interface was drawn at random."""
    repr(array), array.shape, array.strides, array.size, array.dtype, array.nbytes
    call_or_exception(lambda: array.__cuda_array_interface__)
    call_or_exception(lambda: array.T)
    call_or_exception(lambda: array[s.integer()])
    call_or_exception(lambda: array[:: s.pick_item((1, 2, -1))])
    call_or_exception(array.reshape, -1)
    if array.nbytes <= 4096:  # only the simulator can check which memory exists
        call_or_exception(array.copy_to_host)
        call_or_exception(lambda: array.__setitem__(slice(None), 1))


@register_target
def fuzz_dlpack(data):
    """Capsules with hostile tensors. An accepted capsule is released once; a rejected capsule is not
    changed."""
    s = FuzzSource(data)
    name = CAPSULES[0] if s.draw_flag() else s.pick_item(CAPSULES)
    count = s.integer_below(5)
    shape = (ctypes.c_int64 * max(count, 1))(*[s.word() for _ in range(count)])
    strides = (ctypes.c_int64 * max(count, 1))(*[s.word() for _ in range(count)])
    tensor = DLPackTensor(
        data=pick_address(s), device_type=s.pick_item((2, 2, 2, 1, 3, 13, 7, -1, s.word(32))),
        device_id=s.pick_item((0, 0, 0, 1, -1, s.word(32))), ndim=s.pick_item((count, count, count, -1, s.word(32))),
        code=s.pick_item((2, 2, 0, 1, 4, 5, 6, s.byte())), bits=s.pick_item((32, 32, 8, 64, 16, 1, s.byte())),
        lanes=s.pick_item((1, 1, 1, 0, 4, 65535)), byte_offset=s.pick_item((0, 0, 4, s.word(64, False))),
    )  # fmt: skip
    # (NumPy accepts 1, 3, 11 and 13 as host devices.) Two properties cannot be checked:
    # ndim larger than the shape (such a tensor has shape NULL), and the extent of host memory.
    speaks = s.draw_flag()
    is_host = tensor.device_type in (1, 3, 11) or (speaks and tensor.device_type == 13)
    if is_host:
        tensor.data, tensor.byte_offset, count = (
            device_and_host_memory()[1].ctypes.data,
            0,
            min(tensor.ndim, 1),
        )
        shape[0], strides[0] = s.integer_below(8), 1
        tensor.ndim = count
    if tensor.ndim <= count:
        tensor.shape = shape if is_host or not s.draw_flag(8) else None
        tensor.strides = strides if s.draw_flag() else None
    has_deleter = not s.draw_flag(4)
    deleter = ctypes.cast(_deleter, ctypes.c_void_p) if has_deleter else None
    if name == CAPSULES[1]:
        managed = ManagedTensorVersioned(
            s.pick_item((1, 1, 0, 2, 2**32 - 1)), s.byte(), None, deleter, s.word(64, False), tensor
        )
    else:
        managed = ManagedTensor(tensor, None, deleter)
    capsule = _new_capsule(ctypes.addressof(managed), name, None)
    given = DLPackSpeaker(s, capsule) if speaks else capsule
    # NumPy may hold a tensor for as long as an exception holds its array.
    _tensors.append((managed, shape, strides))
    _deleted.clear()
    taker = s.pick_item((cuda.from_dlpack, _core.from_dlpack, cuda.as_cuda_array, cuda.to_device))
    array, _ = call_or_exception(taker, given)
    again, _ = call_or_exception(taker, capsule)
    is_used = ctypes.pythonapi.PyCapsule_IsValid
    is_used.argtypes = [ctypes.py_object, ctypes.c_char_p]
    was_taken = any(is_used(capsule, b"used_" + n) for n in CAPSULES[:2]) and not name.startswith(
        b"used"
    )
    if isinstance(array, _core.DeviceArray):
        use_array(array, s)
    del array, again, given
    if len(_deleted) < (was_taken and has_deleter):
        gc.collect()  # an exception may hold the array in a cycle
    assert len(_deleted) == (was_taken and has_deleter), (len(_deleted), was_taken, has_deleter)


class InterfaceObject:
    pass


TYPESTRS = ("<f4", "<f4", "|u1", "<i8", ">f4", "<c16", "|V8", "O", "<f2", "", "f", "<f44", "<M8[s]", "|O", "<U3",
            "\0f4", "é", "<f4,<i4", 5, None)  # fmt: skip


@register_target
def fuzz_interface(data):
    """Reads dictionaries of the CUDA Array Interface with invalid fields."""
    s = FuzzSource(data)
    ndim = s.integer_below(4)

    def pick_numbers(count):
        values = tuple(s.integer() for _ in range(count))
        return (
            values
            if not s.draw_flag(12)
            else s.pick_item((list(values), None, 5, (None,) * count, ("a",), (1.5,)))
        )

    what = {
        "shape": pick_numbers(ndim),
        "typestr": s.pick_item(TYPESTRS),
        "data": s.pick_item(
            ((pick_address(s), s.draw_flag()),) * 5
            + (None, (1,), (None, True), ("a", 0), (2**70, False), (-1, 0))
        ),
        "version": s.pick_item((3, 3, 3, 2, 0, 4, -1, None, 2**70, "3")),
        "strides": s.pick_item((None, None, pick_numbers(ndim), pick_numbers(ndim + 1))),
        "stream": s.pick_item((None, None, None, 1, 2, 0, -1, 2**70, "1")),
    }
    if s.draw_flag(6):
        what["mask"] = s.pick_item((None, 5))
    if s.draw_flag(6):
        what["descr"] = s.pick_item(
            (None, [], [("a", "<f4")], [("", "|V4")], 5, [(1, 2, 3)], [("a", "O")])
        )
    for _ in range(s.integer_below(3)):
        what.pop(s.pick_item(tuple(what) or ("x",)), None)
    thing = InterfaceObject()
    thing.__cuda_array_interface__ = (
        what if not s.draw_flag(16) else s.pick_item((None, 5, [what], "x"))
    )
    array, _ = call_or_exception(
        s.pick_item((cuda.as_cuda_array, _core.from_interface, cuda.to_device)), thing
    )
    if isinstance(array, _core.DeviceArray):
        use_array(array, s)
    call_or_exception(empty_kernel("array<float>")[1, 1], thing)
    call_or_exception(empty_kernel("float*")[1, 1], thing)


# ---- launches -----------------------------------------------------------------------------------------------

PARAMETERS = ("int", "unsigned char", "float", "double", "long long", "bool", "complex<float>", "float*",
              "const double*", "array<float>", "array<const int, 2>", "array<float, 2, layout::C>", "float2",
              "void*", "array<double, 3, layout::F>")  # fmt: skip
_kernels = {}
_bodies = None


def empty_kernel(*kinds):
    """Returns a kernel with these parameters and an empty body."""
    kernel = _kernels.get(kinds)
    if kernel is None:
        listed = ", ".join(f"{kind} p{i}" for i, kind in enumerate(kinds))
        kernel = _kernels[kinds] = cuda.jit(f"__global__ void nothing({listed}) {{}}")
    return kernel


def body_kernels():
    global _bodies
    if _bodies is None:

        @cuda.jit
        def untyped_kernel(a, b):
            ""

        @cuda.jit(["void(float32[:], int32)", "void(float64[:], int64)"])
        def typed_kernel(a, b):
            ""

        _bodies = untyped_kernel, typed_kernel
    return _bodies


class OddObject:
    """An object whose attributes return unusual values."""

    def __init__(self, s):
        self.kind = s.integer_below(6)

    def _odd_value(self):
        if self.kind == 0:
            raise KeyError("odd")
        return (None, "text", 2**70, self, -1)[self.kind - 1]

    def __index__(self):
        return self._odd_value()

    __float__ = __complex__ = __bool__ = __len__ = __index__

    @property
    def __cuda_array_interface__(self):
        return self._odd_value()

    def __dlpack_device__(self):
        return self._odd_value()

    def __cuda_stream__(self):
        return self._odd_value()


def pick_value(s):
    device, host = device_and_host_memory()
    kind = s.integer_below(20)
    if kind < 3:
        return s.integer()
    if kind < 5:
        return s.pick_item(
            (0.0, 1.5, float("nan"), float("inf"), 1e308, -1e-320, 1j, complex("nan"), True, None)
        )
    if kind < 8:
        return device[s.integer() : s.integer() : s.pick_item((1, 2, -1, -3))]
    if kind == 8:
        return call_or_exception(
            device.reshape, tuple(s.integer(9) for _ in range(s.integer_below(4)))
        )[0]
    if kind == 9:
        return host[s.integer() :: s.pick_item((1, 2, -1))]
    if kind == 10:
        dtype = s.pick_item(("f4", "i4", ">f4", "c8", "O", "U3", "M8[s]", "f4,i4", "V3", "?"))
        return np.zeros(tuple(s.integer_below(3) for _ in range(s.integer_below(4))), dtype)
    if kind == 11:
        return s.pick_item((np.float32, np.int8, np.uint64, np.complex128, np.bool_, np.float16))(
            s.integer_below(3)
        )
    if kind == 12:
        return OddObject(s)
    if kind == 13:
        dtype = s.pick_item(("f4", "i4", "f8", "f4,i4", "?"))
        return call_or_exception(
            cuda.device_array, tuple(s.integer_below(4) for _ in range(s.integer_below(3))), dtype
        )[0]
    if kind == 14:
        return [pick_value(s) for _ in range(s.integer_below(3))]
    return s.pick_item((None, "x", b"abc", (), (1, 2), [1], {}, len, OddObject, memoryview(b"abc"), np.dtype("f4"),
                   2**200, -(2**63), bytearray(4), cuda.default_stream()))  # fmt: skip


@register_target
def fuzz_launches(data):
    """Launches kernels with random parameters, arguments and configurations."""
    s = FuzzSource(data)
    if s.draw_flag(3):
        kernel = s.pick_item(body_kernels())
        count = 2
    else:
        count, first = s.integer_below(3), s.integer_below(len(PARAMETERS))
        kernel = empty_kernel(*(PARAMETERS[first], PARAMETERS[first - 7])[:count])
    configuration = (1, s.pick_item((1, 32)))
    if s.draw_flag(3):
        configuration = tuple(
            pick_value(s) if s.draw_flag(3) else s.pick_item((1, 1, 2, (1, 1), (2, 2, 1), 0, -1))
            for _ in range(s.integer_below(6))
        )
    if s.draw_flag(8):
        count = s.integer_below(5)
    launcher, _ = call_or_exception(lambda: kernel[configuration])
    if launcher is not None:
        # A grid of millions of blocks is not an error, only slow.
        grid = call_or_exception(lambda: int(np.prod(launcher.griddim, dtype="f8")))[0]
        if grid is None or grid <= 4096:
            call_or_exception(launcher, *[pick_value(s) for _ in range(count)])
    call_or_exception(cuda.synchronize)


@register_target
def fuzz_indexing(data):
    """Tests slices and indices of device arrays: Each call returns NumPy's result, or raises an error if
    NumPy does."""
    s = FuzzSource(data)
    shape = tuple(s.integer_below(4) for _ in range(s.integer_below(4)))
    host = np.arange(int(np.prod(shape)), dtype="i4").reshape(shape)
    device = cuda.to_device(host)
    for _ in range(1 + s.integer_below(3)):
        key = tuple(
            s.pick_item((s.integer(5), slice(s.integer(5), s.integer(5), s.pick_item((None, 1, 2, -1, -2, s.integer()))),
                    slice(None), Ellipsis, None, np.int8(1), True, OddObject(s), 1.5, "x"))
            for _ in range(s.integer_below(5))
        )  # fmt: skip
        if len(key) == 1 and s.draw_flag():
            key = key[0]
        theirs, wrong = call_or_exception(host.__getitem__, key)
        ours, problem = call_or_exception(device.__getitem__, key)
        odd = any(
            isinstance(k, (OddObject, bool)) for k in (key if isinstance(key, tuple) else (key,))
        )
        if odd:
            return
        if wrong is not None:
            assert problem is not None, key
            return
        if problem is not None:
            assert isinstance(problem, (TypeError, NotImplementedError, IndexError, ValueError)), (
                problem
            )
            return
        if not isinstance(ours, _core.DeviceArray):
            assert ours == theirs
            return
        assert (ours.shape, ours.copy_to_host().tolist()) == (theirs.shape, theirs.tolist()), key
        host, device = theirs, ours


_ufuncs = []


@register_target
def fuzz_ufuncs(data):
    """Calls ufuncs and their methods with invalid operands, out=, where=, axis= and dtype=."""
    from numbalite import guvectorize, vectorize

    if not _ufuncs:

        @vectorize(["float32(float32, float32)", "int64(int64, int64)"], target="cuda")
        def plus(a, b):
            "a + b"

        @guvectorize(["void(float32[:], float32[:], float32[:])"], "(n),(n)->()", target="cuda")
        def dot(a, b, out):
            "out[0] = 0; for (int i = 0; i < a.size(); ++i) out[0] += a[i] * b[i];"

        _ufuncs.extend([plus, dot, cuda.reduce("a + b")])
    s = FuzzSource(data)
    function = s.pick_item(_ufuncs)
    name = s.pick_item((None, None, None, "reduce", "accumulate", "outer", "at", "reduceat"))
    called = getattr(function, name, function) if name else function
    options = {}
    for _ in range(s.integer_below(3)):
        option = s.pick_item(
            (
                "out",
                "where",
                "axis",
                "dtype",
                "casting",
                "order",
                "keepdims",
                "initial",
                "stream",
                "axes",
                "x",
            )
        )
        options[option] = s.pick_item(
            (pick_value(s), None, s.integer(), (0,), (pick_value(s),), "same_kind", "f4")
        )
    made, _ = call_or_exception(
        called, *[pick_value(s) for _ in range(s.integer_below(5))], **options
    )
    if isinstance(made, _core.DeviceArray) and made.nbytes < 1 << 16:
        call_or_exception(made.copy_to_host)


_scope = {"np": np, "cuda": cuda}


@register_target
def fuzz_decorators(data):
    """Calls decorators and cuda.module with invalid options, signatures and bodies."""
    from numbalite import guvectorize, jit, vectorize

    s = FuzzSource(data)
    names = ("a", "b", "out", "class", "int", "é", "_", "nl_a", "threadIdx")
    parameters = list(
        dict.fromkeys(
            s.pick_item(names[:3] if s.draw_flag() else names) for _ in range(s.integer_below(4))
        )
    )
    bodies = (
        "",
        "return 1;",
        "a",
        "a + b",
        "out[0] = 1;",
        "{",
        "#if 1",
        "return;",
        '"',
        "static int x;",
        "/*",
    )
    text = f"def f({', '.join(p for p in parameters if p not in ('class',))}):\n    {s.pick_item(bodies)!r}\n"
    exec(compile(text, "<fuzz>", "exec"), _scope)
    function = s.pick_item(
        (_scope["f"], _scope["f"], _scope["f"], None, 5, "a + b", len, OddObject(s), lambda a: a)
    )
    options = {}
    known = ("debug", "boundscheck", "opt", "lineinfo", "fastmath", "max_registers", "launch_bounds", "link", "std",
             "headers", "options", "device", "inline", "cooperative", "cluster", "cache", "extensions", "name",
             "source", "identity", "target", "nopython", "writable_args", "x")  # fmt: skip
    for _ in range(s.integer_below(3)):
        options[s.pick_item(known)] = s.pick_item((True, False, None, 0, 1, -1, 4, 2**40, "c++17", "c++3", "cuda", "cpu", (), (1,),
                                         (0, 0), [], ["-DX=1"], ["-nonsense"], {"a.h": ""}, {1: 2}, 1.5, b"x", OddObject(s)))  # fmt: skip
    signature = (
        s.text(TYPE_TOKENS, 8)
        if s.draw_flag()
        else s.pick_item(("void(float32[:])", "float32(float32)", None, [], 5))
    )
    kind = s.integer_below(6)
    if kind == 0:
        made, _ = call_or_exception(lambda: cuda.jit(signature, **options)(function))
    elif kind == 1:
        made, _ = call_or_exception(cuda.jit, function, **options)
    elif kind == 2:
        made, _ = call_or_exception(
            lambda: vectorize([signature], **{"target": "cuda", **options})(function)
        )
    elif kind == 3:
        layout = s.text(LAYOUT_TOKENS, 8) if s.draw_flag() else "(n)->()"
        made, _ = call_or_exception(
            lambda: guvectorize([signature], layout, **{"target": "cuda", **options})(function)
        )
    elif kind == 4:
        made, _ = call_or_exception(
            cuda.reduce, function, **{k: v for k, v in options.items() if k != "name"}
        )
    else:
        made, _ = call_or_exception(lambda: jit(signature, **options)(function))
    if made is not None and callable(made) and s.draw_flag(4):
        call_or_exception(repr, made)
        call_or_exception(made, *[pick_value(s) for _ in range(s.integer_below(3))])


# ---- all of them --------------------------------------------------------------------------------------------


def prepare_process():
    """Prepares the process, once."""
    os.environ.setdefault("NUMBALITE_DRIVER", "sim")
    warnings.simplefilter("ignore")


def live_objects():
    """Returns the objects of C code after unreferenced objects were collected."""
    from numbalite.runtime import traced
    from numbalite.ufuncs import cudaufunc

    cudaufunc._casts.clear()
    traced.drop_traces()
    for _ in range(3):
        gc.collect()
    call_or_exception(cuda.synchronize)
    return dict(_core.live())
