"""CUDA's libraries under the names that programs for NumbaPro know: ``from numbalite.cuda.libs import cufft``."""
