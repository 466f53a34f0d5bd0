"""The main module of a process that multiprocessing starts in a program run by ``python -m numbalite run``.
The module installs numbalite under numba's name in this process, then runs the program's source.
"""

from __future__ import annotations

import io

from numbalite import config, numba

if __name__ == "__mp_main__":
    numba.install()
    __file__ = config.PROGRAM
    with io.open_code(__file__) as _file:
        exec(compile(_file.read(), __file__, "exec", dont_inherit=True))
