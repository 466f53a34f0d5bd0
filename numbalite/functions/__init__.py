"""NumPy's functions on device arrays: `np.sum(d)`, `np.concatenate([d, e])`, `np.zeros(3, like=d)`.

NumPy hands a call of one of its functions with a device array among the arguments to
DeviceArray.__array_function__ (NEP 18; with `like=`, NEP 35). That is C: it looks the function up in
the dict `_core.array_functions` and calls what it finds. The dict is filled by `@implements("sum")` over
the functions of this package, module by module, when the first function of a namespace of NumPy is
asked for. What nothing implements is a TypeError that says how to get on; no function computes on the
host what it was given on the device.

Calls are recorded, and those like them repeated in C (`numbalite/runtime/recorded.py`): what a function does
follows from how its arrays lie and from its other arguments, or it says that it does not.

To add a function: write it with NumPy's parameters under `@implements`, in the module of its kind, out of
ufuncs, views and copies (`arguments.py` has the conversions); or in a package of its own,
which MODULES in numbalite/ndarray/dispatch.py then names. Uses types, runtime, kernels, ndarray, ufuncs and algorithms.
Begin with reductions.py.
"""
