"""What the tests of the documentation share lies beside them."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
