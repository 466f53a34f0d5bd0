"""Random examples against NumPy's own ufuncs: the helpers that these tests share lie beside them.

By default the examples are few, and always the same; `pytest tests/properties
--hypothesis-profile=long` draws many, and others each time.
"""

import pathlib
import sys

try:
    import hypothesis  # noqa: F401
except ImportError:
    collect_ignore_glob = ["test_*"]
else:
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
