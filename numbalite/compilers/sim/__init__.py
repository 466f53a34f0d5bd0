"""Sources rewritten for the simulator, which the host's compiler then compiles.

`translation` makes C++ for a CPU of CUDA C++; `irpatch` corrects what clang's optimizer assumes and a GPU does not;
`ptx` translates inline PTX; `debugger` starts gdb. Begin with translation.py.
"""
