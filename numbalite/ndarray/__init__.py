"""DeviceNDArray: views, indexing, assignment, copies, and the exchange with other libraries.

`arrays` has the class, `methods` those of its methods that are NumPy's functions, `views` the views of other shapes and
dtypes. `indexing` reads and writes elements by index arrays and masks, `gather` and `batchcopy` have the kernels for
these, `assign` and `copyplan` copy between layouts. `dispatch` maps NumPy's functions to those of the packages above.
`foreign` and `exchange` wrap arrays of other libraries, `hostarrays` makes page-locked and managed memory.
Uses types, compilers, runtime and kernels. Begin with arrays.py.
"""
