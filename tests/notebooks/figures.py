"""What a program draws, written down where matplotlib is missing, and drawn where it is.

`Recorder` stands for the modules of matplotlib: it notes every call. `draw` makes the same calls of matplotlib
itself. Results of calls are known by numbers; nothing that the program does may depend on what is in them.
"""

import importlib
import io
import sys
import types

import numpy as np

MODULES = ("matplotlib", "matplotlib.pyplot", "matplotlib.patches", "matplotlib.ticker")


class Recorder:
    """`install` puts the stand-ins into sys.modules; `take` gives the calls since the last time."""

    def __init__(self):
        self.calls = []
        self.count = 0

    def install(self):
        for name in MODULES:
            sys.modules[name] = module = types.ModuleType(name)
            module.__getattr__ = lambda attribute, at=name: self._imported(at, attribute)
        for name in MODULES[1:]:
            setattr(sys.modules["matplotlib"], name.rpartition(".")[2], sys.modules[name])
        sys.modules["matplotlib.pyplot"].subplots = self._subplots

    def _imported(self, module, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.note("import", module, name)

    def take(self):
        taken, self.calls = self.calls, []
        return taken

    def note(self, kind, *parts):
        self.count += 1
        self.calls.append((self.count, kind, *map(_plain, parts)))
        return Drawn(self, self.count)

    def _subplots(self, *args, **options):
        made = self.note("subplots", args, options)
        rows, columns = (*args, 1, 1)[:2]
        rows, columns = options.get("nrows", rows), options.get("ncols", columns)
        axes = np.empty((rows, columns), object)
        for i in range(rows):
            for j in range(columns):
                axes[i, j] = self.note("axes", made, i, j)
        axes = axes.squeeze()
        return self.note("figure", made), axes[()] if axes.ndim == 0 else axes


class Drawn:
    """The result of a call."""

    def __init__(self, recorder, number):
        self._recorder, self._number = recorder, number

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._recorder.note("attribute", self, name)

    def __getitem__(self, index):
        return self._recorder.note("item", self, index)

    def __call__(self, *args, **options):
        return self._recorder.note("call", self, args, options)


class Number(int):
    """Stands for the result of that call."""


def _plain(value):
    if isinstance(value, Drawn):
        return Number(value._number)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return _plain(value.tolist())
    if type(value).__name__ in ("dict_keys", "dict_values", "range"):
        return _plain(list(value))
    return value


def draw(calls, results):
    """Makes the calls; ``results``, {number: result}, is what calls before have given, and is added to.
    The figures that are there then, as PNG; they are closed."""
    import matplotlib.pyplot as plt

    def real(value):
        if isinstance(value, Number):
            return results[int(value)]
        if isinstance(value, (list, tuple)):
            return type(value)(map(real, value))
        if isinstance(value, dict):
            return {name: real(part) for name, part in value.items()}
        return value

    for number, kind, *parts in calls:
        parts = real(parts)
        if kind == "import":
            made = getattr(importlib.import_module(parts[0]), parts[1])
        elif kind == "subplots":
            made = plt.subplots(*parts[0], **{**parts[1], "squeeze": False})
        elif kind == "axes":
            made = parts[0][1][parts[1], parts[2]]
        elif kind == "figure":
            made = parts[0][0]
        elif kind == "attribute":
            made = getattr(*parts)
        elif kind == "item":
            made = parts[0][parts[1]]
        else:
            made = parts[0](*parts[1], **parts[2])
        results[number] = made
    pictures = []
    for figure in map(plt.figure, plt.get_fignums()):
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=72, bbox_inches="tight")
        pictures.append(file.getvalue())
    plt.close("all")
    return pictures
