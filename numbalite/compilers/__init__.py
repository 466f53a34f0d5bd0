"""Compiles sources to machine code: the disk cache, NVRTC for GPUs, the host compiler for the CPU.

`compile_source` is the only entry point. The cache key of an image covers the source, its includes, the target, the compiler,
numbalite's CUDA C++ and this package, so a cached image equals the image that a new compilation would produce. A cache
hit loads neither compiler.

nvrtc.py, headers.py, precompiled.py and toolkit.py are for GPUs; hostbuild.py, with
host.py, hostunit.py, hostlink.py, forkserver.py and process.py, for the CPU. sim/ rewrites sources for the simulator. hints.py and
pythonisms.py explain compilers' messages. Uses types and cxx. Begin with source.py, then this file.
"""

from __future__ import annotations

import functools
import os
from _thread import allocate_lock
from typing import TYPE_CHECKING

from numbalite import config, frontend
from numbalite.compilers import cache, headers, linking, pack, toolkit
from numbalite.compilers.image import Image, image_checksum, shared_object
from numbalite.compilers.source import Source
from numbalite.errors import CompileError, CudaSupportError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

__all__ = [
    "Image",
    "Source",
    "compile_count",
    "compile_source",
    "issue_image_warnings",
    "origin",
    "source_of",
]

_ON_THE_CPU = ("sim", "host")
_lock = allocate_lock()
_count = 0
_sources: dict[bytes, Source] = {}  # digest of an image for the simulator -> its Source
_profiled: dict[int, tuple[Source, Image]] = {}  # checksum of a profiled image -> both

watcher: Callable | None = None
"""watcher(source, target) is a context manager around each compilation: notebooks report long ones."""


def compile_count() -> int:
    """Returns the number of compiler runs in this process (cache hits do not count)."""
    return _count


def compile_source(source: Source, target: tuple, again: bool = False) -> Image:
    """Compiles a CUDA C++ source, or returns its cached image. ``again`` ignores the cached image and
    replaces it.

    target is ("cuda", major, minor), the compute capability to compile for; ("sim",), the simulator; ("sim",
    *names of checks), an instrumented image for the simulator (see numbalite.runtime.checks); or ("host",):
    the functions in the source's ``kernels``, for the CPU (see host.py). compile_source raises CompileError
    for errors in the source.
    """
    target = _effective_target(target)
    if target[0] in _ON_THE_CPU:
        source = source.replace(stoppable=False)  # kernels for the simulator are always stoppable
    original, source = source, _with_register_limit(source) if target[0] == "sim" else source
    key = _cache_key(source, target)
    image = None if again else cache.load_image(key)
    if image is None and not again:
        image = pack.load_image(source, target)
    if image is None:
        image = _compile_for_target(source, target)
        cache.store_image(key, _with_changed_file_names(image, _drop_process_number))
    elif image.slips:
        image = _with_changed_file_names(image, _restore_process_number)
    if target[0] == "sim":
        _sources[_short_digest(shared_object(image.data))] = original
    if target[0] == "sim" and "profile" in target:
        _profiled[image_checksum(image.data)] = original, image
    return image


def _with_register_limit(source):
    """Adds an option without effect to a source with max_registers, so that its simulator image identifies
    the Source, which the profiler compiles again for a GPU."""
    if source.max_registers is None:
        return source
    name = "nl_max_registers"
    constant = f'extern "C" __attribute__((visibility("default"))) const int {name};'
    value = f"const int {name} = {source.max_registers};"
    return source.replace(text=f"{source.text}\n{constant}\n{value}\n")


def issue_image_warnings(
    image: Image, target: tuple, others: Callable[[], Iterable[Source]], before: Container = ()
) -> None:
    """Issues warnings for the probable mistakes of an image that are not in `before`; raises KernelWarning if
    a filter makes a warning an error.

    ``others`` returns the function's sources for its other signatures. If there are warnings, the other
    sources are compiled, too: a line that is a probable mistake for one type may be right for another.
    """
    found = [slip for slip in image.slips if slip not in before]
    if found:
        from numbalite.compilers import slipwarnings

        for source in others():
            try:
                found = slipwarnings.common_slips(found, compile_source(source, target).slips)
            except (
                CompileError
            ):  # ignored: the error is raised when that signature itself is compiled
                continue
        slipwarnings.issue_warnings(found)


def source_of(image: bytes) -> Source | None:
    """Returns the Source of an image for the simulator; the driver looks it up by the image."""
    return _sources.get(_short_digest(image))


def source_of_profiled_launch(number: int) -> tuple[Source, Image] | None:
    """Returns the source and the image of a profiled launch, for the checksum of the image."""
    return _profiled.get(number)


def _short_digest(data):
    return cache.blake2b(data, digest_size=16).digest()


def image_origin(source: Source, target: tuple) -> str:
    """Returns a text about the origin of a source's image, for messages: the cache file, or the compiler."""
    path = cache.image_path(_cache_key(source, _effective_target(target)))
    return path or "the compiler, just now"


def _effective_target(target):
    if target[0] == "cuda":
        return ("cuda", *(config.FORCE_CUDA_CC or target[1:]))
    if target[0] == "sim" and config.COVERAGE:
        from numbalite.compilers import host

        if host.split_coverage(target)[0]:
            return target
        os.makedirs(config.COVERAGE, exist_ok=True)
        return (*target, host.OF_ALL if config.COVERAGE_OF_NUMBALITE else host.OF_USERS)
    return target


def _compile_for_target(source, target):
    global _count
    with _lock:
        _count += 1
    frontend.attach()
    if watcher is not None:
        with watcher(source, target):
            return _run_compiler(source, target)
    return _run_compiler(source, target)


def _run_compiler(source, target):
    from numbalite.compilers import nameconflicts, slipwarnings

    slips = slipwarnings.search_slips(source)
    source = source.with_inner_macros()
    if target[0] in _ON_THE_CPU:
        from numbalite.compilers import hostbuild

        linking.refuse_linked_code(source)

        def run_compiler(source):
            return hostbuild.compile(source, *target)
    else:
        from numbalite.compilers import nvrtc

        def run_compiler(source):
            return nvrtc.compile(source, target[1:])

    image = nameconflicts.compile_without_conflicts(
        source, run_compiler, lambda: headers.included_texts(source)
    )
    return image.replace(slips=slipwarnings.merge_slips(slips, image.slips))


def _cache_key(source, target):
    """Returns the key of a source in the disk cache, or None if the source cannot be cached."""
    if target[0] in _ON_THE_CPU:
        from numbalite.compilers import host

        compiler = host.compiler_fingerprint(source, *target)
        folders = toolkit.include_directories
    else:
        try:
            compiler = toolkit.libraries_fingerprint(bool(source.linked), source.launches)
        except CudaSupportError:
            return None  # a library is missing: errors in the source are reported first
        folders = functools.partial(toolkit.include_directories, compiler[0])
    included = headers.include_closure(
        source, folders
    )  # raises CompileError if a header is not a regular file
    if included is None or cache.usable_directory() is None:
        return None
    source = source.replace(
        name=_drop_process_number(source.name),
        text=_drop_process_number(source.text),
        users=tuple(
            lines._replace(file=_drop_process_number(lines.file)) for lines in source.users
        ),
        slips=_with_changed_file_names(source, _drop_process_number).slips,
    )
    return cache.hash_values(
        cache.SCHEMA, target, compiler, package_digest(), included, tuple(source)
    )


def _drop_process_number(text):
    """Removes the process number that IPython puts into the file names of notebook cells."""
    return text.replace(f"ipykernel_{os.getpid()}", "ipykernel") if "ipykernel_" in text else text


def _restore_process_number(text):
    """Restores the process number that `_lasting` removed, with the number of this process."""
    return text.replace("/ipykernel/", f"/ipykernel_{os.getpid()}/")


def _with_changed_file_names(made, change):
    """Returns an Image or Source whose warnings have their file names changed by `change`."""
    slips = tuple(slip._replace(file=change(slip.file)) for slip in made.slips)
    return made.replace(slips=slips) if slips else made


_own = None
_SEARCHES = (
    "advice slips slip_search slip_operators slip_statements statements uninitialized".split()
)


def package_digest() -> bytes:
    """Returns a digest of the names, sizes and dates of numbalite's CUDA C++ files and of the
    modules that compile them."""
    global _own
    if _own is None:
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        files = ("__init__", "types/describe", *(f"cxx/{name}" for name in _SEARCHES))
        found = [_file_stamp(f"{package}/{file}.py") for file in files]
        found += file_stamps(headers.cuda_src(), f"{package}/compilers")
        _own = cache.hash_values(*sorted(found))
    return _own


def file_stamps(*folders: str) -> list[tuple]:
    """Returns the names, sizes and dates of the files in folders and their subfolders."""
    found, waiting = [], list(folders)
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                name = entry.name
                if name[0] == "." or name == "__pycache__":
                    continue
                if entry.is_dir():
                    waiting.append(entry.path)
                    continue
                try:
                    status = entry.stat()
                except FileNotFoundError:
                    continue
                found.append((entry.path, status.st_size, status.st_mtime_ns))
    return found


def _file_stamp(path):
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return path, 0, 0
    return path, status.st_size, status.st_mtime_ns
