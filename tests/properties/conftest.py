"""Random examples, compared with NumPy's own ufuncs. By default the examples are few, and always the same;
`pytest tests/properties --hypothesis-profile=long` draws many examples, and new ones in each run."""

import importlib.util

if not importlib.util.find_spec("hypothesis"):
    collect_ignore_glob = ["test_*"]
