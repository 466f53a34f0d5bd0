"""Links kernels with compiled code, for GPUs: The accepted files are PTX, cubins, LTO-IR, objects and
archives.

The toolkit's nvJitLink links the code of the source and the files of ``link_cubin=`` to one cubin. nvJitLink runs
in a separate process with a time limit, because a damaged file can crash it, or keep it in an endless loop.
"""

from __future__ import annotations

import os
import re
import sys
from typing import NamedTuple

from numbalite.compilers import toolkit
from numbalite.errors import CompileError, CudaSupportError

# nvJitLinkInputType
_TYPES = {"cubin": 1, "ptx": 2, "ltoir": 3, "fatbin": 4, "object": 5, "archive": 6}
SUFFIXES = {
    ".cubin": "cubin", ".ptx": "ptx", ".ltoir": "ltoir", ".fatbin": "fatbin",
    ".o": "object", ".obj": "object", ".a": "archive", ".lib": "archive",
}  # fmt: skip
_LIMIT = 240  # seconds
_CHILD = """
import pickle, sys
path, job = pickle.load(sys.stdin.buffer)
sys.path[:] = path
from numbalite import _core
try:
    answer = _core.nvjitlink(*job)
except Exception as problem:
    answer = problem.args[0]
pickle.dump(answer, sys.stdout.buffer)
"""


class LinkedBinary(NamedTuple):
    """Compiled code to link with. kind: a value of SUFFIXES; name: the name in messages."""

    kind: str
    name: str
    data: bytes


def device_runtime() -> LinkedBinary:
    """Returns the device runtime library, which is linked to kernels that launch kernels."""
    path = toolkit.device_runtime()
    with open(path, "rb") as file:
        return LinkedBinary("archive", os.path.basename(path), file.read())


def refuse_linked_code(source) -> None:
    """Raises NotImplementedError for a source with compiled code if there is no GPU."""
    if source.linked:
        names = ", ".join(binary.name for binary in source.linked)
        raise NotImplementedError(
            f"link=: {names}: code that is compiled for GPUs cannot run on the CPU; for the simulator, "
            "pass its CUDA C++ source"
        )


def link_cubin(source, kind: str, image: bytes, architecture: str, library: str) -> bytes:
    """Returns the cubin of a source's `image` linked with all its compiled code. CompileError names missing
    symbols."""
    options = [f"-arch={architecture}"]
    if any(binary.kind == "ltoir" for binary in source.linked):
        options.append("-lto")
    if source.max_registers:
        options.append(f"-maxrregcount={source.max_registers}")
    inputs = [(_TYPES[kind], image, source.name)]
    inputs += [(_TYPES[binary.kind], binary.data, binary.name) for binary in source.linked]
    answer = _run_nvjitlink(library, tuple(options), tuple(inputs))
    if isinstance(answer, str):
        raise CudaSupportError(f"{answer}: link= needs the toolkit's nvJitLink")
    if answer["status"]:
        names = ", ".join(binary.name for binary in source.linked)
        log = answer["log"].replace("\0", "").strip()
        why = log or f"status {answer['status']}"
        text = f"error: linking with {names} failed: {why}"
        raise CompileError(text, log=log, source=source.text)
    return answer["cubin"]


_ASSEMBLER = re.compile(r"--?(?:ptxas-options|Xptxas)[= ]?(.*)")


_SHARED = re.compile(rb"(\.shared \.align )(\d+)( \.b8 [\w$]+\[(\d+)\])")
_WIDEST = 16  # bytes of an access
_SHARED_MEMORY = 48 << 10  # bytes of static shared memory


def _align_shared_arrays(ptx):
    """Returns the PTX with shared arrays aligned to 16 bytes, if the result fits in shared memory.

    The linker decides where shared arrays begin only after the assembler has selected instructions. Without
    this alignment, the assembler cannot combine loads of neighbouring elements.
    """
    found = [(int(align), int(size)) for _, align, _, size in _SHARED.findall(ptx)]
    if sum(size for _, size in found) + _WIDEST * len(found) > _SHARED_MEMORY:
        return ptx

    def align_declaration(match):
        fits = int(match[2]) < _WIDEST and int(match[4]) % _WIDEST == 0
        return match[1] + (b"%d" % _WIDEST if fits else match[2]) + match[3]

    return _SHARED.sub(align_declaration, ptx)


def assemble_ptx(source, ptx: bytes, architecture: str, library: str) -> bytes:
    """Assembles a compiler's PTX to a cubin. Raises CudaSupportError without a linker."""
    from numbalite import _core

    ptx = _align_shared_arrays(ptx)

    options = [f"-arch={architecture}"]
    if source.debug or source.lineinfo or source.stoppable:
        options.append("-g" if source.debug else "-lineinfo")
    if source.max_registers:
        options.append(f"-maxrregcount={source.max_registers}")
    if source.opt is not True and source.opt is not None and not source.debug:
        options.append(f"-O{int(source.opt)}")
    given = [_ASSEMBLER.fullmatch(option) for option in source.options]
    options += [f"-Xptxas={found[1]}" for found in given if found and found[1]]
    answer = _core.nvjitlink(library, tuple(options), ((_TYPES["ptx"], ptx, source.name),))
    if isinstance(answer, str) or answer["status"]:
        raise CudaSupportError(answer if isinstance(answer, str) else answer["log"])
    return answer["cubin"]


def _run_nvjitlink(*job):
    """Calls _core.nvjitlink in another process; returns its result or the text of its exception."""
    if not sys.executable:
        from numbalite import _core

        return _core.nvjitlink(*job)
    import pickle
    import subprocess

    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=pickle.dumps(([os.path.abspath(place) for place in sys.path], job)),
            capture_output=True,
            check=False,
            timeout=_LIMIT,
        )
    except subprocess.TimeoutExpired:
        why = f"the linker did not end within {_LIMIT} s, which damaged files can cause"
        return {"status": -1, "log": why}
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-500:]
        why = f"it ended with status {done.returncode}"
        return {"status": done.returncode, "log": f"{why}, as it does on damaged files. {said}"}
    return pickle.loads(done.stdout)
