"""Random examples against NumPy's own ufuncs. By default they are few, and always the same; `pytest
tests/properties --hypothesis-profile=long` draws many, and others each time."""

import importlib.util

if not importlib.util.find_spec("hypothesis"):
    collect_ignore_glob = ["test_*"]
