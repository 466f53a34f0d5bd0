"""The programs in README.md are programs: they run, one after the other."""

import pathlib
import re
import warnings

import numpy as np

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


def test_the_examples_run():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert blocks
    names = {"x": np.arange(100, dtype=np.float32), "y": np.ones(100, np.float32)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, block in enumerate(blocks):
            exec(compile(block, f"<README.md, example {number + 1}>", "exec"), names)
    np.testing.assert_array_equal(names["out"], names["a"] * 2)
    np.testing.assert_array_equal(names["y"], 2 * names["x"] + 1)
