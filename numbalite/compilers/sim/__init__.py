"""Rewrites CUDA C++ sources for the simulator; the host's C++ compiler then compiles them.

`translation` turns CUDA C++ into C++ for a CPU; `irpatch` gives operations that C++ leaves undefined a GPU's results;
`ptx` translates inline PTX; `debugger` starts gdb. Begin with translation.py.
"""
