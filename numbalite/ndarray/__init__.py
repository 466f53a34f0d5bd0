"""Implements DeviceNDArray: views, indexing, assignment, copies, and the exchange with other libraries.

`arrays` defines the class, `methods` its methods that call NumPy functions, `views` its methods that change
shape or dtype. `indexing` reads and writes elements by index arrays and masks; `gather` contains the kernels
of `indexing`. `batchcopy` copies several arrays in one launch, `assign` and `copyplan` copy between layouts
and dtypes. `dispatch` maps NumPy's functions to the device functions in packages above ndarray. `foreign` and
`exchange` wrap arrays of other libraries, `hostarrays` allocates page-locked and managed memory. The package ndarray uses types, compilers, runtime and kernels. Begin with arrays.py.
"""
