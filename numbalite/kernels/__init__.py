"""From a decorated string to a launch: what runs once for each kernel.

`decorators` is the way in; `options` checks keywords; `source` puts the text together that compilers get;
`program` compiles and loads it when it is needed; `dispatcher` and `module` are what users call. The
launch itself is C (cext/py/dispatcher.c). Uses text, types and compilers. Begin with decorators.py.
"""
