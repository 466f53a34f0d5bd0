"""Kernels, from the decorated function to the launch: the code that runs once per kernel.

A kernel's text becomes a Source (`compilers/source.py`): the complete text with its names, headers and options. A
compiler generates an Image from it. The image is loaded; a Kernel has one entry point and its parameters.
``kernel[grid, block]`` is a Launcher.

`decorators` is the entry point, `options` checks keywords. `source` has the user's text, `builder` generates the Source
for given types, `translations` caches the sources of Python bodies. `images` compiles and loads a source when needed;
`kernel` is a kernel in an image. `dispatcher` and `module` are the objects of users: they select or compile the kernel
for a call. C code implements the launch (cext/py/dispatcher.c, launcher.c). python/ translates Python bodies, and is
imported for the first one. Uses types, cxx, compilers, runtime, profiler
and python. Begin with decorators.py.
"""
