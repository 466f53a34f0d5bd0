"""Random numbers in device arrays, with the surface of numpy.random.Generator (`cuda.random.default_rng`).

`philox` is the bit generator: a key and a counter on the host, of which every launch uses a range.
`generator` has the distributions as methods, `parameters` reads their arguments, `kernels` has the kernel of
each (cuda_src/numbalite/random_fill.cuh, random_draw.cuh, permute.cuh), `shuffling` makes permutations. Uses
types, runtime, kernels, ndarray, ufuncs and algorithms. Begin with generator.py.
"""
