"""Kernels with Python bodies: from a function's syntax tree to CUDA C++ that a person would have written.

    read.py        the function: its tree, its file, its parameters, where its names are looked up
    tree.py        walking the tree
    flow.py        which assignments reach which uses: the variables
    variables.py   their types, found round by round; what C++ calls them (declarations.py: where it declares them)
    conditions.py  what conditions say of variables
    expressions.py expressions; arithmetic.py operators, subscripts.py elements and slices, memory.py arrays
                   and records
    builtins.py    the table of functions and attributes; calls.py what the rules for them are given
    intrinsics.py  those of numba.cuda; half.py float16, bfloat.py bfloat16, vectors.py, libdevice.py
    randoms.py     random numbers on the CPU
    times.py       datetime64 and timedelta64; elementwise.py NumPy's functions over arrays, reductions.py
                   its reductions
    rules.py       numba's rules for types; values.py what an expression is meanwhile
    unroll.py      loops over tuples of several types; branches.py branches that types decide
    bindings.py    what assignments do to their targets
    translate.py   statements; loops.py loops
    readonly.py    which parameters are only read
    ufuncs.py      calls and reductions of ufuncs
    printing.py    the text, with the Python lines
    context.py     the functions that a body calls, and one compilation as a whole
    definition.py  the place in the rest of numbalite: a Definition whose text comes when types are known
    remedies.py    what to write instead
    problem.py     what is said of Python that cannot be a kernel

The result is a Definition (cxx/definition.py), as of a string: the packages that use it do not depend on which
language the body had. Uses types, cxx and kernels. Begin with read.py.
"""
