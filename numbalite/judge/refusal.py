"""Rejects sources that contain more than device code. The judge compiles and launches a submission, so the
submission must only do what a kernel can do. On the simulator, kernels are native code, which could call
functions of the C library. The source is checked before it is compiled. Macros can hide a name from this
check, so the compiled image is checked, too."""

from __future__ import annotations

import functools
import os
import re

from numbalite.compilers import elf, headers
from numbalite.compilers.image import shared_object
from numbalite.cxx import scanner
from numbalite.judge.verdict import Failed

_HEADERS = re.compile(
    r"cuda_\w+\.h|cuda/[\w/]+|cub/[\w/.]+|cooperative_groups(/\w+)?\.h|mma\.h|math_constants\.h|curand_kernel\.h"
    r"|vector_types\.h|(c?(math|stdint|float|limits|assert|stddef)|type_traits|utility)(\.h)?|numbalite[\w/.]*"
)
_NAMES = {
    **dict.fromkeys(("__host__", "main", "cudaLaunchKernel"), "host code"),
    **dict.fromkeys(("__asm__", "__asm", "_asm"), "assembly of the host"),
    **dict.fromkeys(("__attribute__", "__declspec"), "attributes of the host's compiler"),
}
_CALLS = frozenset(
    """system popen fork vfork execl execlp execle execv execve execvp posix_spawn syscall open openat creat close read
    write pread pwrite lseek mmap mprotect munmap mremap socket connect bind send recv sendto recvfrom getenv setenv
    putenv dlopen dlsym dlclose signal sigaction kill raise exit _exit _Exit quick_exit atexit longjmp setjmp fopen
    fdopen fread fwrite fputs fclose remove unlink rename rmdir mkdir chdir chmod chown link symlink pthread_create
    ptrace prctl setrlimit nanosleep usleep sleep""".split()
)
_OURS = re.compile(
    r"nl_(?!coverage)\w+|numbalite_sim|__llvm_\w+|__tsan_\w+|__asan_\w+|NUMBALITE_SIM\w*"
)
# Compilers replace other code by calls of these functions.
_OF_COMPILERS = frozenset(
    "memcpy memmove memset memcmp bcmp strlen sincos sincosf exp10 exp10f".split()
)
_NO_TYPES = frozenset("return else do co_return case goto throw new".split())


class RefusedSubmission(Failed):
    """Raised for a submission that is not accepted, with the reasons."""

    def __init__(self, hacks: list[str]) -> None:
        super().__init__("The file is not only device code.")
        self.hacks = hacks


def refusal_reasons(text: str) -> list[str]:
    """Returns the reasons for which a source is rejected, one sentence each; empty if the source is
    accepted."""
    found = []
    tokens = scanner.tokenize(text)
    own = set(scanner.functions(text)) if "(" in text else set()
    words: list = []
    for token in tokens:
        if token.kind == "directive":
            found += _directive_reasons(token.text)
            if scanner.directive_word(token.text) == "define":
                body = re.sub(r"(?s).*?define\s+\w+(\([^)]*\))?", ";", token.text, count=1)
                words += scanner.tokenize(body)
        else:
            words.append(token)
    for i, token in enumerate(words):
        if token.kind != "name":
            continue
        name = token.text
        if name in _NAMES:
            found.append(f"{name} is {_NAMES[name]}")
        elif name in _CALLS and name not in own and _is_library_call(words, i):
            found.append(f"{name}() is a function of the host")
        elif _OURS.fullmatch(name):
            found.append(f"{name} is a name of the simulator")
        elif name == "_Pragma" and _token_text(words, i + 2)[:7] != '"unroll':
            found.append("_Pragma is a pragma for the host's compiler")
        elif name == "asm" and not _is_ptx_statement(words, i):
            found.append("asm without PTX is assembly of the host")
        elif name == "extern" and _token_text(words, i + 1) == '"C"':
            if _token_text(words, i + 2) not in ("__global__", "__device__"):
                found.append('extern "C" declares functions of the host')
    if "<<<" in text:
        found.append("kernels launch nothing here: <<<...>>> is host code")
    return list(dict.fromkeys(found))


def reasons_of_image(data: bytes, checked: bool) -> list[str]:
    """Returns the reasons why a compiled image of the simulator is not accepted: the image needs other
    functions than kernels have, or contains code that runs when it is loaded. Images with checks have such
    code of their own; they are compiled after the image without checks."""
    code = bytes(shared_object(data))
    names = [name for name in elf.undefined_symbols(code) if not _is_allowed_symbol(name)]
    found = [f"{name} is a function of the host" for name in names]
    if not checked and elf.constructor_count(code):
        found.append(
            "code runs when the kernel is loaded: constructors of objects, or of attributes"
        )
    return found


def _is_allowed_symbol(name):
    return name in _device_functions() or name.startswith(("__tls_get", "_Unwind_", "__cxa_"))


@functools.cache
def _device_functions():
    """Returns the set of names of the functions of the C library that the simulator's headers declare."""
    with open(os.path.join(headers.cuda_src(), "sim", "libc.h"), encoding="utf-8") as file:
        words = set(re.findall(r"[a-z_]\w*", re.sub(r"(?s)/\*.*?\*/", "", file.read())))
    return (words | {f"{word}f" for word in words} | _OF_COMPILERS) - _CALLS


def _directive_reasons(text):
    word = scanner.directive_word(text)
    if word in ("include", "import"):
        name = re.search(r'[<"]([^>"]*)[>"]', text)
        if name is None or not _HEADERS.fullmatch(name[1]):
            yield f"{text.strip()}: only headers of CUDA and of mathematics are allowed"
    elif word == "line":
        yield "#line hides where the code is"
    elif word == "pragma" and re.search(r"\b(GCC|clang|push_macro|pop_macro)\b", text):
        yield f"{text.strip()}: a pragma for the host's compiler"


def _token_text(tokens, i):
    return tokens[i].text if 0 <= i < len(tokens) else ""


def _is_library_call(tokens, i):
    """Returns whether a name is called that is neither a member nor declared in the source."""
    if _token_text(tokens, i + 1) != "(" or _token_text(tokens, i - 1) in (".", "->"):
        return False
    return i == 0 or tokens[i - 1].kind != "name" or tokens[i - 1].text in _NO_TYPES


def _is_ptx_statement(tokens, i):
    return _token_text(tokens, i + 1) in ("volatile", "(")
