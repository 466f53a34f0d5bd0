"""What a process that multiprocessing starts runs in the place of the main module of a program that is run by
``python -m numbalite run``: numba is numbalite there too, and then the program's own text.
"""

from __future__ import annotations

import io

from numbalite import config, numba

if __name__ == "__mp_main__":
    numba.install()
    __file__ = config.PROGRAM
    with io.open_code(__file__) as _file:
        exec(compile(_file.read(), __file__, "exec", dont_inherit=True))
