"""Fuzzing targets around files and processes: headers, the cache's folder, pickles, handles. See
targets.py."""

import io
import os
import pathlib
import pickle
import shutil
import struct
import subprocess
import sys
import tempfile

from source import EXPECTED, FuzzSource, call_or_exception

from numbalite import _core, compilers, cuda, types
from numbalite.compilers import cache, compile_count, folders, hostheaders, image
from numbalite.kernels import options
from numbalite.runtime.ipchandles import IpcHandle

KEY = cache.hash_values("fuzz")
IMAGE = image.Image("sim", b"code" * 50, "sim", {"k": "nl_k"}, {"k": "text"}, "log", None, "source")
_folder = None


def make_folder(name):
    """Returns a new folder in the folder of this process."""
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="numbalite-fuzz-")
    path = pathlib.Path(_folder.name, name)
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700)
    return path


def contents_by_path(folder):
    """Returns a dict from paths to the bytes of each file, and to the target of each link, in a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[path] = os.readlink(path)
        elif path.is_file():
            found[path] = path.read_bytes()
    return found


ENTRIES = ("{}.image", "{}.image.7-0123456789ab.tmp", "prelude-{}", "texts-{}", "numbalite-{}", "holiday.image",
           "{}.image.tmp", "{}", "CACHEDIR.TAG")  # fmt: skip


def read_cache_folder(data):
    """The cache does not delete other programs' files in its folder, even if their names resemble
    cache files or they are links."""
    s = FuzzSource(data)
    root = make_folder("around")
    inside, outside = root / "cache", root / "outside"
    os.environ["NUMBALITE_CACHE_DIR"] = str(inside)
    for made in (inside, outside):
        made.mkdir(mode=0o700)
    (outside / "notes").write_bytes(b"theirs")
    folders.mark_folder(str(outside))
    assert cache.store_image(KEY, IMAGE)
    image_of_ours = next(inside.glob("*.image")).read_bytes()
    files = (b"theirs", b"", b"theirs" * 99, image_of_ours[:3], b"x" + image_of_ours)
    for _ in range(s.integer_below(8)):
        path = inside / s.pick_item(ENTRIES).format(
            s.pick_item(("0" * 32, "a" * 32, "x", "7" * 31 + "g"))
        )
        if os.path.lexists(path):
            continue
        kind = s.integer_below(5)
        if kind == 0:
            os.symlink(s.pick_item((outside, outside / "notes", root / "nothing")), path)
        elif kind < 3:
            path.mkdir(mode=0o700)
            (path / s.pick_item(("notes", "image.so"))).write_bytes(s.pick_item(files))
            if kind == 2:
                (path / "CACHEDIR.TAG").write_bytes(
                    s.pick_item((b"", folders._MARK[:-1], b"Signature: 8a477f5"))
                )
        else:
            path.write_bytes(s.pick_item(files[:3]))
        os.utime(path, (1000, 1000), follow_symlinks=False)
    # (An empty temporary file is the beginning of one of ours.)
    before = {
        p: c
        for p, c in contents_by_path(root).items()
        if c != image_of_ours and not (c == b"" and p.suffix == ".tmp")
    }
    for _ in range(1 + s.integer_below(3)):
        s.pick_item(
            (
                cache.clear_cache,
                cache.cache_usage,
                lambda: cache.trim_cache(0),
                lambda: folders.remove_abandoned(str(inside)),
            )
        )()
    cache.clear_cache()
    assert before.items() <= contents_by_path(root).items(), set(before) - set(
        contents_by_path(root)
    )


HEADER_TOKENS = (
    '#include "theirs.cuh"\n', '#include "{}/theirs.cuh"\n', '#include "../theirs.cuh"\n', "#include <m.h>\n",
    '#import "m.h"\n', "#include_next <m.h>\n", '#if __has_include("theirs.cuh")\n#endif\n', "__shared__ int a;\n",
    "extern __shared__ float s[];\n", "__device__ int f(int x, int y) { return x / y; }\n", "#include", '"', "<", "\\\n",
    "/*", "*/", "#define H <m.h>\n#include H\n", "%:include <m.h>\n", "R\"(", "static ", "\0", "é",
)  # fmt: skip
HEADER_NAMES = ("m.h", "a/b.h", "../m.h", "{}/theirs.cuh", "", "a\0b", "x" * 300, "é.h", ".", "..", "a/../../m.h",
                "numbalite-copies/0/theirs.cuh", "a//b.h", "./m.h", "m.h/", "a/..", "~/m.h", "\ud800.h")  # fmt: skip


def read_headers(data):
    """Passes header names with any path, and sources that include the user's files: no user file is
    modified, and no file is written outside of numbalite's folder."""
    s = FuzzSource(data)
    root = make_folder("headers")
    theirs, own = root / "theirs", root / "own"
    theirs.mkdir()
    (theirs / "inner").mkdir()
    tokens = [token.replace("{}", str(theirs)) for token in HEADER_TOKENS]
    for path in (theirs / "theirs.cuh", theirs / "inner" / "theirs.cuh"):
        path.write_text(s.text(tokens, 6), encoding="utf-8", errors="surrogatepass")
    given = {
        s.pick_item(HEADER_NAMES).format(theirs): s.text(tokens, 6)
        for _ in range(s.integer_below(4))
    }
    before = contents_by_path(root)
    call_or_exception(options.parse_options, {"headers": given})
    unit = compilers.Source(s.text(tokens, 12), headers=tuple(given.items()))
    near, kind = str(theirs / "inner"), s.pick_item(("sim", "host"))
    arguments = unit, "", [str(theirs)], near, str(own), s.draw_flag(), kind, s.draw_flag()
    try:
        found = hostheaders.CopiedHeaders(*arguments)
        found.include_copies(found.translate_source_text(unit.text)), found.search_options()
    except (*EXPECTED, OSError):
        pass
    after = {p: c for p, c in contents_by_path(root).items() if own not in p.parents}
    assert after == before, set(after) ^ set(before)


class RestrictedUnpickler(
    pickle._Unpickler
):  # the unpickler in C writes a warning about truncated bytearrays
    """Allows only the classes in the pickles of the corpus."""

    def find_class(self, module, name):
        if (module, name) not in _known:
            raise pickle.UnpicklingError(name)
        return super().find_class(module, name)


class RecordingUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        _known.add((module, name))
        return super().find_class(module, name)


_known: set = set()
_pickles: list = []


def good_pickles():
    """The input contains no NumPy objects, because NumPy crashes when it unpickles a damaged
    dtype."""
    if not _pickles:
        scale = 2.5

        @cuda.jit(device=True)
        def scale_inner(x):
            "return scale * x;"

        @cuda.jit
        def untyped_kernel(x, y):
            "x[0] = scale_inner(y);"

        @cuda.jit
        def store_one(x):
            "x[0] = 1;"

        foreign = cuda.declare_device("f", "float32(CPointer(float32), int64)")
        odd_types = types.float32(
            types.float32[:, ::1], types.Tuple((types.int8, types.typeof(None)))
        )
        handle = IpcHandle(None, bytes(range(64)), 16, None, 4)
        for thing in (scale_inner, untyped_kernel, store_one, foreign, odd_types, handle):
            _pickles.append(pickle.dumps(thing))
            RecordingUnpickler(io.BytesIO(_pickles[-1])).load()
    return _pickles


def load_pickles(data):
    """Loads damaged pickles of kernels, functions, types and handles: each raises an exception or
    returns an object that can be inspected; none compiles code."""
    s = FuzzSource(data)
    count = compile_count()
    try:
        made = RestrictedUnpickler(
            io.BytesIO(s.mutate_bytes(s.pick_item(good_pickles()), 1))
        ).load()
        for look in (repr, pickle.dumps, lambda x: x.signatures, lambda x: x.definition.capture()):
            call_or_exception(look, made)
    except (*EXPECTED, pickle.PickleError, EOFError, struct.error):
        pass
    assert compile_count() == count


HANDLE = struct.Struct("8siiQQQQ")  # cext/sim/driver/calls_ipc.c: sim_handle
EXPORTER = """
import sys
from numbalite import cuda
d = cuda.ipc_array(64, "u1")
d[:] = 7
sys.stdout.buffer.write(bytes(d.get_ipc_handle()._ipc_handle.handle))
sys.stdout.flush()
sys.stdin.read()
"""
_exporter = None
_good_handle = b""


def open_handles(data):
    """Opens changed handles of another process's memory: each opens this memory or raises an
    error."""
    global _exporter, _good_handle
    s = FuzzSource(data)
    if _exporter is None:
        _exporter = subprocess.Popen(
            [sys.executable, "-c", EXPORTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        _good_handle = _exporter.stdout.read(64)
    fields = list(HANDLE.unpack_from(_good_handle))
    kind = s.integer_below(4)
    if kind == 0:
        raw = s.mutate_bytes(_good_handle)
    else:
        for _ in range(s.integer_below(3)):
            at = s.integer_below(len(fields) - 1) + 1
            fields[at] = s.pick_item(
                (0, 1, 2, os.getpid(), os.getppid(), fields[at] + 1, fields[at] - 1, 2**31 - 1)
            )
        raw = HANDLE.pack(
            *(n & (2**64 - 1 if i > 2 else 2**31 - 1) if i else n for i, n in enumerate(fields))
        )
        raw = raw.ljust(64, b"\0")
    size, offset = (
        s.pick_item((64, 64, 0, 1, 65, 2**40, -1)),
        s.pick_item((0, 0, 1, 63, 64, -1, 2**62)),
    )
    handle = IpcHandle(None, raw, size, None, offset)
    context = cuda.current_context()
    opened, _ = (
        call_or_exception(handle.open, context)
        if s.draw_flag()
        else call_or_exception(handle.open_array, context, size, "u1")
    )
    if opened is not None:
        assert raw[8:32] == _good_handle[8:32], "another file was opened"
        assert 0 <= offset <= offset + size <= 4096, "beyond its memory"
        if isinstance(opened, _core.DeviceArray):
            opened.copy_to_host()
        del opened
        handle.close()
