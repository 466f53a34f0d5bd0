"""From a decorated string to a launch: what runs once for each kernel.

A string becomes a Source (`compilers/source.py`): the whole text with its names, headers and options. A compiler
makes an Image of it. The image is loaded, and a Kernel in it has the parameters. ``kernel[grid, block]`` is a
Launcher.

`decorators` is the way in, `options` checks keywords. `source` is what the user wrote, `builder` makes the Source
of it for given types, `translations` caches that of Python bodies. `images` has it compiled and loaded when it is needed; `kernel` is a kernel in there.
`dispatcher` and `module` are what users hold: they choose or make the kernel that fits a call. The launch itself
is C (cext/py/dispatcher.c, launcher.c). Python bodies are
translated by python/, which is imported for the first one. Uses types, cxx, compilers, runtime, profiler
and python. Begin with decorators.py.
"""
