"""numbalite info | demo | run | profile | coverage | gdb | editor | cache clear; also as python -m numbalite

`info` lists the components that were found and those that are missing, and works without any of them.
"""

from __future__ import annotations

import os
import signal
import sys

from numbalite.errors import CudaSupportError

USAGE = """usage: numbalite COMMAND

  info          what was found: driver, devices, compilers, headers, cache
  demo          runs a few kernels and shows what they do
  run FILE ...  runs a Python program that imports numba on numbalite (also: -m MODULE ..., -c CODE ...;
                options of Python before these: run -W ignore FILE)
  profile FILE ...  runs a Python program on the simulator and prints what its kernels' accesses cost on a GPU,
                by line (--gpu H200, --json)
  coverage ...  line and branch coverage of kernels: run FILE | report | html | lcov
  judge FILE --task TASK ...  is a kernel right, safe and fast?
  gdb FILE ...  runs a Python program under gdb, its kernels on the simulator, to be stepped through
  editor        tells an editor of kernels: .clangd for *.cu files, --vscode for strings in Python
  cache         where the disk cache is and how much it holds
  cache clear   empties the disk cache
  --version     the version
"""


def main(argv=None) -> int:
    """Runs a command and returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["run"], ["gdb"], ["profile"], ["coverage"]):
        return run_command(arguments)  # a program of the user handles its own output errors
    try:
        status = run_command(arguments[:])
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # `numbalite info | head -1`: the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except (
        CudaSupportError
    ) as problem:  # a missing compiler or library; the message names the package to install
        sys.stdout.flush()
        print(f"numbalite {arguments[0]}: {problem}", file=sys.stderr)
        return 1


def run_command(arguments) -> int:
    """Runs the command at the beginning of the arguments and returns the exit status."""
    command = arguments.pop(0) if arguments else ""
    if command == "info":
        return info()
    if command in ("version", "--version", "-V") and not arguments:
        import numbalite

        print(f"numbalite {numbalite.__version__}")
        return 0
    if command == "demo":
        import warnings

        from numbalite.errors import SimulatorWarning

        with warnings.catch_warnings():
            # The demo prints the device itself, so the warning is not needed
            warnings.simplefilter("ignore", SimulatorWarning)
            from numbalite import demo

            return demo.main(arguments)
    if command == "run" and arguments and arguments[0] not in ("-h", "--help"):
        from numbalite.numba import program

        return program.run(arguments)
    if command == "profile":
        from numbalite.profiler import program as profiled

        return profiled.main(arguments)
    if command == "coverage":
        from numbalite.coverage import program as covered

        return covered.main(arguments)
    if command == "judge":
        from numbalite.judge import program as judged

        return judged.main(arguments)
    if command == "gdb" and arguments:
        from numbalite.compilers.sim import debugger

        return debugger.run_gdb(arguments)
    if command == "editor":
        from numbalite import editor

        return editor.main(arguments)
    if command == "cache" and arguments in ([], ["clear"]):
        return cache_command(bool(arguments))
    is_asked = not {command, *arguments}.isdisjoint(("help", "-h", "--help"))
    print(USAGE, end="", file=sys.stdout if is_asked else sys.stderr)
    return 0 if is_asked else 2


def _print_row(label, text):
    first, *more = str(text).splitlines() or [""]
    print(f"{label:<16}{first}")
    for line in more:
        print(f"{'':<16}{line}")


def _result_or_reason(function, *arguments):
    """Returns the function's result, or the text of its exception, because the report must not stop
    at the first missing component."""
    try:
        return function(*arguments)
    except Exception as problem:
        return f"not available: {problem}"


def info() -> int:
    """Prints what was found."""
    for label, question in (
        ("numbalite", _version_text),
        ("Python", lambda: sys.version.replace("\n", " ")),
        ("NumPy", _numpy_version),
        ("environment", _environment_text),
        ("driver", _driver_text),
        ("devices", _device_lines),
        ("NVRTC", _nvrtc_text),
        ("libraries", _library_lines),
        ("headers", _header_text),
        ("host compiler", _host_compiler_text),
        ("cache", _cache_text),
    ):
        _print_row(label, _result_or_reason(question))
    return 0


def _version_text():
    import numbalite
    from numbalite import _core

    return f"{numbalite.__version__} ({os.path.abspath(_core.__file__)})"


def _numpy_version():
    import numpy

    return numpy.__version__


def _environment_text():
    from numbalite import config

    return "\n".join(f"{name}={value}" for name, value in config.describe()) or "nothing set"


def _driver_text():
    import warnings

    from numbalite import _core, cuda

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = _core.open()
    if kind == "sim":
        return f"the CPU simulator ({cuda.cuda_error() or 'asked for'})"
    version = _core.driver_version()
    where = _loaded_library_path("libcuda.so")
    return f"NVIDIA, for CUDA {version // 1000}.{version % 1000 // 10} and older{where and ', '}{where}"


def _loaded_library_path(name):
    """Returns the path of a library that the process has loaded, or "" if the path cannot be determined."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            paths = {line.split(maxsplit=5)[5].strip() for line in file if name in line}
    except (OSError, IndexError):
        return ""
    return min(paths, default="", key=len)


def _device_lines():
    from numbalite import cuda

    lines = []
    for device in cuda.gpus:
        major, minor = device.compute_capability
        lines.append(
            f"{device.id}: {device.name}, compute capability {major}.{minor}, "
            f"{device.MULTIPROCESSOR_COUNT} multiprocessors, "
            f"{device.total_memory / 2**30:.1f} GiB"
        )
    return "\n".join(lines) or "none"


def _library_lines():
    from numbalite import _core
    from numbalite.errors import CudaSupportError
    from numbalite.runtime.libraries import table

    is_simulated = _core.driver_has("host_code")
    lines = ["not needed: on the simulator NumPy computes their results"] if is_simulated else []
    for library in (table.CUBLAS, table.CUFFT, table.CUSOLVER, table.CUSPARSE):
        try:
            lines.append(library.path())
        except CudaSupportError as error:
            if not is_simulated:
                lines.append(str(error))
    return "\n".join(lines)


def _nvrtc_text():
    from numbalite.compilers import nvrtc

    library, version, archs = nvrtc.open_library()
    return (
        f"{version[0]}.{version[1]}, {library.path}\n"
        f"for compute capabilities {', '.join(f'{a // 10}.{a % 10}' for a in archs)}"
    )


def _header_text():
    from numbalite.compilers import headers, toolkit

    try:
        library = toolkit.nvrtc_library()
    except ImportError:
        library = None
    found = toolkit.include_directories(library and library.path)
    lines = [f"{headers.cuda_src()} (numbalite's own)", *found]
    for part, packages in toolkit.missing_toolkit_parts(found, library.major if library else 13):
        lines.append(f"not found: {part} ({toolkit.pip_install(packages)})")
    return "\n".join(lines)


def _host_compiler_text():
    from numbalite.compilers import hostbuild

    return hostbuild.describe_compiler()


def _cache_text():
    from numbalite import config
    from numbalite.compilers import cache

    if config.DISABLE_CACHE:
        return "disabled (NUMBALITE_DISABLE_CACHE)"
    count, size = cache.cache_usage()
    return (
        f"{cache.wanted_directory()}, {count} kernels in {size / 2**20:.1f} MiB "
        f"of at most {config.CACHE_SIZE / 2**20:.0f} MiB"
    )


def cache_command(clear) -> int:
    """`cache` and `cache clear`."""
    from numbalite.compilers import cache

    if clear:
        print(f"{cache.clear_cache()} files removed from {cache.wanted_directory()}")
    else:
        _print_row("cache", _cache_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
