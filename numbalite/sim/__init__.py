"""What the simulator needs beside its C code: sources rewritten for the host's compiler, and checks.

`translation` makes C++ for a CPU of CUDA C++; `irpatch` mends what clang's optimiser assumes and a GPU
does not; `checks` says what is looked for; `debugger` starts gdb. Uses text and the headers of compilers,
which uses it. Begin with translation.py.
"""
