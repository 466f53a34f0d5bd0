"""Generates random numbers in device arrays, with the interface of numpy.random.Generator
(`cuda.random.default_rng`).

`philox` implements the bit generator: a key and a counter on the host; every launch uses a range of the
counter. `generator` contains the distributions as methods, `parameters` reads their arguments, `kernels`
contains the kernel of each distribution (cuda_src/numbalite/random_fill.cuh, random_draw.cuh, permute.cuh),
`shuffling` computes permutations. The package random uses types, runtime, kernels, ndarray, ufuncs
and algorithms. Begin with generator.py.
"""
