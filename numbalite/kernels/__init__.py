"""Compiles and prepares kernels, from the decorated function to the launch: the code that runs once per
kernel.

A kernel's text becomes a Source (`compilers/source.py`): the complete text with its names, headers and
options. A compiler creates an Image from the Source. The image is loaded; a Kernel object represents one
entry point of the image and its parameters. ``kernel[grid, block]`` is a Launcher object.

`decorators` is the entry point, `options` checks keywords. `source` contains the user's text, `builder`
generates the Source for given types, `translations` caches the sources of Python bodies. `images` compiles
and loads a source when needed; `kernel` defines the class of a kernel in an image. `dispatcher` and `module`
define the objects that users call; these objects select or compile the kernel for a call. C code implements
the launch (cext/py/dispatcher.c, launcher.c). The package python translates Python bodies; the first kernel
with a Python body imports it. The package kernels uses types, cxx, compilers, runtime, profiler and python.
Begin with decorators.py.
"""
