"""Computes the PYTHONPATH of child processes."""

import os


def python_path(root):
    """Returns a PYTHONPATH with `root` before the folders of this process's PYTHONPATH, which may contain optional
    packages."""
    return os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
