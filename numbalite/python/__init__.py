"""Translates Python bodies of kernels, from a function's syntax tree to readable CUDA C++.

A function whose translation is in the disk cache is not translated again:

    cachekey.py    the key: the function's lines, the types of its arguments, and the values that it reads
    definition.py  the interface to the other packages: a Definition whose text is generated for given types
    context.py     the functions that a body calls, and one compilation as a whole

Phase 1, read: the function, before its types exist.

    read.py        its tree, its file, its parameters, the scopes of its names
    tree.py        walking the tree
    flow.py        which assignments reach which uses: the variables
    unroll.py      loops over tuples of several types; branches.py branches that types decide

Phase 2, types: rounds over all statements until the type of no variable changes (Translator._find_types).

    translate.py   statements; loops.py loops; bindings.py targets of assignments
    variables.py   types and C++ names of variables (declarations.py: where C++ declares them)
    conditions.py  ranges of variables that conditions imply
    expressions.py expressions; arithmetic.py operators, subscripts.py elements and slices, memory.py arrays
                   and records
    builtins.py    the table of functions and attributes; calls.py the arguments of their rules
    intrinsics.py  those of numba.cuda; half.py float16, bfloat.py bfloat16, vectors.py, libdevice.py
    randoms.py     random numbers on the CPU
    rounding.py    round and np.round
    times.py       datetime64 and timedelta64; elementwise.py NumPy's functions over arrays, reductions.py
                   its reductions
    ufuncs.py      calls and reductions of ufuncs
    rules.py       numba's rules for types; values.py translated expressions

Phase 3, emit: one more round, whose lines are the text (Translator._emit).

    printing.py    the text, with the Python lines
    readonly.py    which parameters are only read

Errors:

    problem.py     messages for Python that cannot be a kernel
    remedies.py    what to write instead; slips.py likely mistakes

The result is a Definition (cxx/definition.py), as of a string: the packages that use it do not depend on which
language the body had. Uses types, cxx and kernels. Begin with read.py.
"""
