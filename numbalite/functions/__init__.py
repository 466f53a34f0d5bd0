"""NumPy's functions on device arrays: `np.sum(d)`, `np.concatenate([d, e])`, `np.zeros(3, like=d)`.

If an argument is a device array, NumPy's functions call DeviceArray.__array_function__ (NEP 18; with `like=`, NEP 35).
C code implements the protocol: it looks up the function in the dict `_core.array_functions` and calls the
device version. `@implements("sum")` adds the functions of this package to the dict; their modules are
imported when the first function of a NumPy namespace is called. Functions without a device version raise
TypeError with a remedy; no function computes on the host with values from the device.

Calls are traced and replayed in C for arrays of equal layout (`numbalite/runtime/traced.py`). The device operations of
a function must depend only on the layout of its arrays and on its other arguments, or the function must
invalidate the trace.

To add a function: write it with NumPy's parameters under `@implements`, in the module for its topic, from
ufuncs, views and copies (`arguments.py` has the conversions); or in another package, and list its module in
MODULES of numbalite/ndarray/dispatch.py. The package functions uses types, runtime, kernels, ndarray,
ufuncs and algorithms. Begin with reductions.py.
"""
