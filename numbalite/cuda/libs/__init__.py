"""Exports CUDA's libraries under NumbaPro's names: ``from numbalite.cuda.libs import cufft``."""
