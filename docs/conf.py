"""The site: `make docs` builds it into build/site from the pages of docs/, README and the notebooks.

The source folder is the whole checkout, so that links between pages, notebooks and sources also work when the
repository is browsed. The reference is generated from docstrings, so numbalite is imported: on the simulator,
this compiles no code.
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("NUMBALITE_DRIVER", "sim")
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]

import numbalite

project = "numbalite"
author = "the numbalite authors"
version = release = numbalite.__version__
html_title = f"numbalite {version}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "docstrings", "kernels", "notebooks", "search"]
root_doc = "docs/index"
include_patterns = ["README.md", "CHANGELOG.md", "SECURITY.md", "docs/**", "notebooks/**"]
exclude_patterns = [
    "docs/_ext/**",
    # Sphinx skips the checkout's other folders.
    ".*",
    "build*",
    "cext",
    "cuda_src",
    "dist",
    "numbalite",
    "tests",
    "notebooks/slides/**",  # for a projector
    "**/.ipynb_checkpoints",
]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_extra"]
html_copy_source = False
html_search_scorer = str(HERE / "_static" / "scorer.js")
html_show_copyright = False
highlight_language = "none"
pygments_style = "friendly"
pygments_dark_style = "monokai"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
# The parts of lessons begin with headings of any level.
suppress_warnings = ["myst.header"]

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
add_module_names = False
toc_object_entries_show_parents = "hide"
nitpicky = False
