"""Rewrites CUDA C++ sources for the simulator; the host's C++ compiler then compiles them.

`translation` turns CUDA C++ into C++ for a CPU. `irpatch` rewrites operations that C++ leaves undefined, so
that their results are those of a GPU. `ptx` translates inline PTX; `debugger` starts gdb. Begin with
translation.py.
"""
