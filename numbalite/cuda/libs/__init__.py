"""CUDA's libraries under the names of NumbaPro: ``from numbalite.cuda.libs import cufft``."""
