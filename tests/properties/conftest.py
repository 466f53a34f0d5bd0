"""Defines the hypothesis profiles of tests that compare random examples with NumPy's ufuncs. By
default, a few fixed examples are run;
`pytest tests/properties --hypothesis-profile=long` draws many examples, and new ones in each run."""

import importlib.util

if not importlib.util.find_spec("hypothesis"):
    collect_ignore_glob = ["test_*"]
