"""Finds the CUDA toolkit: the NVRTC library, the linker library and the headers.

The usual locations are searched directly, which takes microseconds: pip packages (nvidia/cu13, nvidia/cuda_nvrtc, ...), a
conda environment, CUDA_PATH or CUDA_HOME, the linker's path, /usr/local/cuda. cuda-pathfinder, which searches more
locations and takes 0.1 s, is used only if these locations have no library. This module loads no library,
except that bundled.py may load NVRTC for its headers.
"""

from __future__ import annotations

import os
import re
import sys

from numbalite import config
from numbalite.compilers import bundled
from numbalite.errors import CudaSupportError

OLDEST = 12  # major version of the oldest supported NVRTC
_NEWEST = 19  # major version of the newest NVRTC that is searched

# The packages of the extras cuda13 and cuda12 (pyproject.toml).
INSTALL = (
    'pip install "cuda-toolkit[nvrtc,cudart,crt]>=13.3,==13.*" (for a driver older than 580 '
    '"cuda-toolkit[nvrtc,cudart,cccl]==12.*")'
)


# Default locations of toolkits and of libraries.
SYSTEM_TOOLKITS = ("/usr/local/cuda", "/opt/cuda")
SYSTEM_LIBRARIES = ("/usr/lib64", "/usr/lib", f"/usr/lib/{os.uname().machine}-linux-gnu")

# The environment variables that the search depends on, in addition to sys.path.
_VARIABLES = ("CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX", "LD_LIBRARY_PATH")


class NvrtcLibrary:
    """A libnvrtc: its major version (0: unknown until it is loaded) and its path."""

    __slots__ = ("major", "path")

    def __init__(self, major, path):
        self.major = major
        self.path = path

    def __repr__(self):
        return f"NvrtcLibrary({self.major}, {self.path!r})"


def _list_directory(path):
    try:
        return os.listdir(path)
    except OSError:
        return []


def _package_roots():
    """Yields the paths of the `nvidia` folders in sys.path."""
    for place in dict.fromkeys(sys.path):
        root = os.path.join(place or ".", "nvidia")
        if os.path.isdir(root):
            yield root


def _toolkit_roots():
    """Yields installed toolkits, most specific first; a toolkit may occur twice."""
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        root = config.read_external(variable)
        if root:
            yield root
    conda = config.read_external("CONDA_PREFIX")
    if conda:
        yield conda
    yield from SYSTEM_TOOLKITS


def _library_folders():
    for root in _package_roots():
        names = _list_directory(root)
        # CUDA 13 and newer have one folder per version, older releases one per component.
        for name in sorted((n for n in names if n[:2] == "cu" and n[2:].isdecimal()), reverse=True):
            yield os.path.join(root, name, "lib")
        if "cuda_nvrtc" in names:
            yield os.path.join(root, "cuda_nvrtc", "lib")
    for root in _toolkit_roots():
        yield os.path.join(root, "lib64")
        yield os.path.join(root, "lib")
        targets = os.path.join(root, "targets")
        for name in sorted(_list_directory(targets)):
            yield os.path.join(targets, name, "lib")
    for folder in (config.read_external("LD_LIBRARY_PATH") or "").split(os.pathsep):
        if folder:
            yield folder
    yield from SYSTEM_LIBRARIES


def library_folders(name: str) -> list[str]:
    """Yields folders that may contain a library of the toolkit, such as "cusolver"."""
    packages = [os.path.join(root, name, "lib") for root in _package_roots()]
    return [*_library_folders(), *packages]


def _libraries_in(folder):
    """Yields the NVRTC libraries in a folder, newest first. Tests each possible file name, because some
    folders are too large to list."""
    for major in range(_NEWEST, OLDEST - 2, -1):
        path = f"{folder}/libnvrtc.so.{major}"
        if os.path.exists(path):
            yield NvrtcLibrary(major, path)


def _libraries_by_pathfinder():
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        path = load_nvidia_dynamic_lib("nvrtc").abs_path
    except Exception:  # any exception means "not found"
        return []
    return [NvrtcLibrary(0, path)] if path else []


def _search_libraries():
    """Yields all NVRTC libraries that were found, the preferred one first."""
    given = config.NVRTC
    if given:
        if not os.path.exists(given):
            raise CudaSupportError(f"NUMBALITE_NVRTC={given!r}: there is no such file")
        name = os.path.basename(given).partition(".so.")[2].partition(".")[0]
        yield NvrtcLibrary(int(name) if name.isdecimal() else 0, given)
        return
    seen = set()
    for folder in _library_folders():
        for library in _libraries_in(folder):
            real = os.path.realpath(library.path)
            if real not in seen:
                seen.add(real)
                yield library
    if not seen:
        yield from _libraries_by_pathfinder()


def libraries() -> list:
    """Returns all NVRTC libraries that were found, the preferred one first."""
    return list(_search_libraries())


opened: NvrtcLibrary | None = None
"""The library that this process has opened; there is only one (set by compilers.nvrtc)."""


def _driver_cuda_major():
    """Returns the CUDA major version of the driver, or None before the driver is open, and on the simulator."""
    from numbalite import _core

    if _core.is_open() and not _core.driver_has("host_code"):
        return _core.driver_version() // 1000
    return None


def libraries_fingerprint(with_linker: bool = False, with_runtime: bool = False) -> tuple:
    """Identifies the NVRTC, nvJitLink and device runtime libraries without loading them: paths, sizes and dates."""
    found: list = []
    others = [linker_library()] if with_linker or with_runtime else []
    others += [device_runtime()] if with_runtime else []
    for path in (nvrtc_library().path, *others):
        path = os.path.realpath(path)
        status = os.stat(path)
        found += path, status.st_size, status.st_mtime_ns
    return tuple(found)


def linker_library() -> str:
    """Returns the nvJitLink of the same version as the selected NVRTC. Raises CudaSupportError if no
    nvJitLink of this version is found."""
    nvrtc = nvrtc_library()
    majors = [nvrtc.major] if nvrtc.major else range(_NEWEST, OLDEST - 1, -1)
    names = [f"libnvJitLink.so.{major}" for major in majors]
    if path := _find_next_to_nvrtc("nvjitlink", names):
        return path
    package = "nvidia-nvjitlink-cu12" if nvrtc.major == 12 else "nvidia-nvjitlink"
    raise CudaSupportError(
        f"link= with compiled code, and kernels that launch kernels, need nvJitLink, which was not found "
        f"next to {nvrtc.path}: pip install {package}"
    )


def device_runtime() -> str:
    """Returns the path of libcudadevrt.a, with which kernels that launch kernels are linked.
    Raises CudaSupportError without it."""
    if path := _find_next_to_nvrtc("cuda_runtime", ["libcudadevrt.a"]):
        return path
    nvrtc = nvrtc_library()
    package = "nvidia-cuda-runtime-cu12" if nvrtc.major == 12 else "nvidia-cuda-runtime"
    raise CudaSupportError(
        f"kernels that launch kernels need the toolkit's libcudadevrt.a, which was not found next to "
        f"{nvrtc.path}: pip install {package}"
    )


def _find_next_to_nvrtc(package, names):
    """Returns the path of the first file of these names in the library folders of the selected NVRTC, or
    None."""
    path = nvrtc_library().path
    folders = [os.path.dirname(path), os.path.dirname(os.path.realpath(path))]
    # The packages of CUDA 12 have separate folders.
    folders += [os.path.join(folder, "..", "..", package, "lib") for folder in folders]
    for folder in (*folders, *_library_folders()):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.exists(path):
                return path
    return None


_chosen = None  # (settings on which the choice depends, library)


def nvrtc_library() -> NvrtcLibrary:
    """Returns the selected NVRTC: the first library that is not newer than the driver, if the driver is open.

    A driver accepts the output of NVRTC versions up to its own CUDA version.
    """
    global _chosen
    if opened:
        return opened
    driver = _driver_cuda_major()
    state = (driver, config.NVRTC, *map(config.read_external, _VARIABLES), tuple(sys.path))
    if _chosen is None or _chosen[0] != state:
        _chosen = state, _choose_library(driver)
    return _chosen[1]


def _choose_library(driver):
    too_new = too_old = None
    for one in _search_libraries():
        if 0 < one.major < OLDEST:
            too_old = too_old or one
        elif driver and one.major > driver:
            too_new = too_new or one
        else:
            return one
    if too_new:
        return too_new
    if too_old:
        raise CudaSupportError(
            f"NVRTC {too_old.major} ({too_old.path}) is too old, numbalite needs {OLDEST} or "
            f"newer: {INSTALL}"
        )
    raise CudaSupportError(
        f"NVRTC, the compiler of CUDA C++, was not found: {INSTALL}. Or set NUMBALITE_NVRTC to "
        "the library's path, or CUDA_HOME to the toolkit's folder."
    )


def _include_folders_near(path):
    """Yields candidates for the include folders that belong to the NVRTC library at `path`."""
    if path:
        for real in dict.fromkeys((path, os.path.realpath(path))):
            home = os.path.dirname(os.path.dirname(real))
            yield os.path.join(home, "include")
            if os.path.basename(home) == "cuda_nvrtc":  # CUDA 12 has one package for each component
                for name in ("cuda_runtime", "cuda_cccl", "curand", "cuda_nvcc"):
                    yield os.path.join(os.path.dirname(home), name, "include")


def _folders_of_other_toolkits():
    """Yields candidates for the include folders of other toolkits, nearest first."""
    for root in _toolkit_roots():
        yield os.path.join(root, "include")
        targets = os.path.join(root, "targets")
        for name in sorted(_list_directory(targets)):
            yield os.path.join(targets, name, "include")
    for root in _package_roots():
        for name in sorted(_list_directory(root), reverse=True):
            if name[:2] == "cu":
                yield os.path.join(root, name, "include")


# Toolkit part -> one of its headers: a folder is used for the parts that no previous folder has.
_PARTS = (
    ("cudart", "cuda_fp16.h"),
    ("crt", "crt/host_defines.h"),
    ("cccl", "cuda/std/version"),
    ("curand", "curand_kernel.h"),
)

_BUNDLED = ("cudart", "cccl")  # the parts whose headers NVRTC 13.3 and newer contain

# The pip packages that contain these toolkit components, for CUDA 13 and for CUDA 12.
_PART_PACKAGES = {
    "cudart": ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"),
    "crt": ("nvidia-cuda-crt", "nvidia-cuda-nvcc-cu12"),
    "cccl": ("nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12"),
    "curand": ("nvidia-curand", "nvidia-curand-cu12"),
}


def missing_toolkit_parts(directories, major: int = 13) -> list:
    """Returns (part, pip package) of the toolkit parts that none of the directories has."""
    return [
        (part, _PART_PACKAGES[part][major == 12])
        for part, header in _PARTS
        if not any(os.path.exists(f"{folder}/{header}") for folder in directories)
    ]


def _include_by_pathfinder(part):
    try:
        from cuda.pathfinder import find_nvidia_header_directory

        return find_nvidia_header_directory("cudart" if part == "crt" else part)
    except Exception:  # any exception means "not found"
        return None


def _mathdx_directories():
    """Returns the include folders of MathDx (cuFFTDx, cuBLASDx, ...), a separate package, and of the CUTLASS that it
    needs."""
    for root in _package_roots():
        home = os.path.join(root, "mathdx")
        if os.path.isfile(os.path.join(home, "include", "cufftdx.hpp")):
            folders = (
                os.path.join(home, "include"),
                os.path.join(home, "external", "cutlass", "include"),
            )
            return [folder for folder in folders if os.path.isdir(folder)]
    return []


_directories: dict[tuple, tuple] = {}


def _bundled_header_folder(path):
    """Returns the folder of the headers that NVRTC contains, or None; `path` has the same meaning as for
    include_directories."""
    try:
        return bundled.header_directory(path or nvrtc_library().path)
    except CudaSupportError:
        return None


def include_directories(path: str | None = None) -> tuple:
    """Returns the toolkit's include folders, for the NVRTC library at `path` (None: any)."""
    state = (path, *map(config.read_external, _VARIABLES), tuple(sys.path))
    known = _directories.get(state)
    if known is None or not all(map(os.path.isdir, known)):
        missing = dict(_PARTS)
        result: list[str] = []
        for folder in _include_folders_near(path):
            _add_include_folder(folder, missing, result)
        if any(part in missing for part in _BUNDLED) and (folder := _bundled_header_folder(path)):
            _add_include_folder(folder, missing, result)
        version = headers_version(result)
        for folder in _folders_of_other_toolkits():
            # NVRTC may fail to compile the headers of a newer toolkit.
            if version and (headers_version([folder]) or version) > version:
                continue
            _add_include_folder(folder, missing, result)
            if not missing:
                break
        if len(missing) == len(_PARTS):
            for part in list(missing):
                folder = _include_by_pathfinder(part)
                if folder:
                    _add_include_folder(folder, missing, result)
        result += _mathdx_directories()
        known = _directories[state] = tuple(result)
    return known


def forget_damaged_headers() -> bool:
    """Returns whether the headers that NVRTC contains were damaged on the disk after this process had found
    them. Forgets the folders with damaged headers, so that the next search creates them again."""
    damaged = bundled.forget_damaged_folders()
    if damaged:
        _directories.clear()
    return damaged


def headers_version(directories) -> tuple | None:
    """Returns (major, minor) of the toolkit headers in these folders; or None if the headers do not declare
    the version."""
    for folder in directories:
        try:
            with open(f"{folder}/cuda_runtime_api.h", encoding="utf-8", errors="replace") as file:
                found = re.search(r"^#define CUDART_VERSION +(\d+)", file.read(), re.M)
        except OSError:
            continue
        if found:
            return int(found[1]) // 1000, int(found[1]) % 1000 // 10
    return None


def _add_include_folder(folder, missing, result):
    for place in (folder, os.path.join(folder, "cccl")):
        had = [part for part, header in missing.items() if os.path.exists(f"{place}/{header}")]
        if had:
            result.append(place)
            for part in had:
                del missing[part]


_MATHDX = "nvidia-mathdx", "nvidia-mathdx"  # CUDA 13 and 12 use the same package

# (header prefix, pip package of CUDA 13, of CUDA 12): the first matching prefix is used.
_PACKAGES = (
    ("cuda/", "nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12"),
    ("cub/", "nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12"),
    ("thrust/", "nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12"),
    ("nv/", "nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12"),
    *(
        (f"{name}dx", *_MATHDX)
        for name in ("cufft", "cublas", "cusolver", "curand", "nvcomp", "common")
    ),
    ("curand", "nvidia-curand", "nvidia-curand-cu12"),
    ("crt/", "nvidia-cuda-crt", "nvidia-cuda-nvcc-cu12"),
    ("cooperative_groups", "nvidia-cuda-runtime nvidia-cuda-cccl", "nvidia-cuda-runtime-cu12"),
    ("cuda", "nvidia-cuda-runtime nvidia-cuda-crt", "nvidia-cuda-runtime-cu12"),
    ("cuComplex.h", "nvidia-cuda-runtime nvidia-cuda-crt", "nvidia-cuda-runtime-cu12"),
    ("mma.h", "nvidia-cuda-runtime nvidia-cuda-crt", "nvidia-cuda-runtime-cu12"),
    ("math_constants.h", "nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"),
    ("vector_", "nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"),
    ("device_", "nvidia-cuda-runtime nvidia-cuda-crt", "nvidia-cuda-runtime-cu12"),
    ("sm_", "nvidia-cuda-runtime nvidia-cuda-crt", "nvidia-cuda-runtime-cu12"),
)


# The headers of Thrust that NVRTC can compile.
_OF_KERNELS = re.compile(
    r"thrust/(?:tuple|functional|pair|random|advance|distance|addressof)\.h|thrust/(?:detail|iterator|random|type_traits)/"
)


_OF_THE_HOST = re.compile(
    r"""(?:cublas|cusolver|cusparse|cufft(?!dx)|curand\.h|curand_mtgp32(?:_host|dc_)|cudnn|cupti|nvml|nvToolsExt|nvtx3|nccl|npp
      |nvjpeg|nvrtc|generated_cu|cuda_profiler_api|cudaProfiler|cuda_gl_interop|cuda_egl|cudaGL|cuda_occupancy|driver_functions
      |cub/(?:device|grid|util_allocator|host)|GL/|sys/|sstream|streambuf)""",
    re.VERBOSE,
)


def is_for_host_code(header: str) -> bool:
    """Returns whether a header belongs to a library that only CPU code calls."""
    return _OF_THE_HOST.match(header) is not None


def is_for_nvcc(header: str) -> bool:
    """Returns whether a header belongs to Thrust and requires nvcc, because it contains host code."""
    return header.startswith("thrust/") and not _OF_KERNELS.match(header)


def pip_install(packages: str) -> str:
    """Returns the command that installs pip packages. The command upgrades CCCL beyond NVRTC's version,
    because the packages of CUDA 12.0 to 12.2 lack most CCCL headers."""
    option = "-U " if packages.startswith("nvidia-cuda-cccl") else ""
    return f"pip install {option}{packages}"


def packages_for(header: str, major: int = 13) -> str:
    """Returns the pip packages (separated by blanks) that contain a toolkit header, or "" for other
    headers."""
    for prefix, new, old in _PACKAGES:
        if header.startswith(prefix):
            return old if major == 12 else new
    return ""
