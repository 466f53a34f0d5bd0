"""ufuncs, generalized ufuncs and reductions, on every target."""
