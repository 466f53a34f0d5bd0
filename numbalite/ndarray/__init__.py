"""DeviceNDArray: views, indexing, assignment, copies, and the exchange with other libraries.

`arrays` has the class, `methods` its methods that call NumPy functions, `views` its methods that change shape or dtype.
`indexing` reads and writes elements by index arrays and masks; `gather` has the kernels for it. `batchcopy` copies
several arrays in one launch, `assign` and `copyplan` copy between layouts and dtypes. `dispatch` maps NumPy's functions
to the device functions of the packages above.
`foreign` and `exchange` wrap arrays of other libraries, `hostarrays` makes page-locked and managed memory.
Uses types, compilers, runtime and kernels. Begin with arrays.py.
"""
