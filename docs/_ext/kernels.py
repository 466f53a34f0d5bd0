"""Highlights Python code, and CUDA C++ in its strings."""

import re

from pygments.lexers.c_cpp import CppLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Error, Keyword, Name, String

# Pattern of tokens that occur only in C++: statements, thread indices, directives.
IS_CXX = re.compile(r";\s*(//.*)?$|;\s*}|#include|__global__|\breturn\b.*;", re.M)
QUOTES = re.compile(r"""(?s)^([rR]?)('''|\"""|'|")(.*)(\2)$""")
WORDS = frozenset(
    """__global__ __device__ __shared__ __constant__ __restrict__ __launch_bounds__ threadIdx blockIdx
    blockDim gridDim warpSize __syncthreads __syncwarp grid gridsize""".split()
)


class KernelLexer(PythonLexer):
    """Lexes strings that contain C++ as C++, and all other code as Python."""

    name = "Python with kernels"
    aliases = ("python",)

    def get_tokens_unprocessed(self, text, *stack):
        pending, start = "", 0
        kept = []
        for at, kind, value in super().get_tokens_unprocessed(text, *stack):
            if kind in String:
                if not pending:
                    start = at
                pending += value
                kept.append((at, kind, value))
                continue
            if pending:
                yield from self._string(start, pending, kept)
                pending, kept = "", []
            yield at, kind, value
        if pending:
            yield from self._string(start, pending, kept)

    def _string(self, start, text, tokens):
        found = QUOTES.match(text.rstrip())
        if found is None or not IS_CXX.search(found[3]):
            yield from tokens
            return
        lexed = list(CppLexer().get_tokens_unprocessed(found[3]))
        if any(kind is Error for _, kind, _ in lexed):  # PTX, for instance
            yield from tokens
            return
        inside = start + found.start(3)
        yield start, String, text[: found.start(3)]
        for at, kind, value in lexed:
            if kind in Name and value in WORDS:
                kind = Keyword.Type if value.startswith("__") else Name.Builtin
            yield inside + at, kind, value
        yield start + found.start(4), String, text[found.start(4) :]


def setup(app):
    app.add_lexer("python", KernelLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
