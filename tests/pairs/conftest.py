"""Kernels with a planted mistake beside their corrected twins; form.py says what a pair is."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
