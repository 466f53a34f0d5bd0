"""The site builds without a warning, and contains the expected pages."""

import json
import shutil
import subprocess
import sys

import doc_pages
import pytest
from kit.together import make_folder_once

pytest.importorskip("sphinx", reason="the site is built where the extra docs is installed")
pytest.importorskip("myst_parser")
pytest.importorskip("furo")


# Sphinx allocates millions of objects, but little garbage;
# garbage collections would take a fifth of the time.
SPHINX = (
    "import gc, sys; gc.disable(); from sphinx.cmd.build import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.fixture(scope="module")
def built_site(tmp_path_factory):
    """Returns the folder of the built site."""
    return make_folder_once(tmp_path_factory, "site", build_site) / "html"


def build_site(folder):
    """Runs Sphinx without -W, so that the log contains all warnings, not only the first."""
    command = [sys.executable, "-c", SPHINX, "-q", "-d", folder / "trees", "-c", "docs", "."]
    done = subprocess.run(
        [*command, folder / "html"],
        cwd=doc_pages.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == "", done.stderr


def test_site_contains_every_page(built_site):
    for page in doc_pages.PAGES:
        made = built_site / page.relative_to(doc_pages.ROOT).with_suffix(".html")
        assert made.stat().st_size > 1000, made


def test_front_page_links_to_every_page(built_site):
    """Each page is in a table of contents, because readers cannot find it otherwise."""
    front = (built_site / "docs/index.html").read_text(encoding="utf-8")
    for page in doc_pages.PAGES:
        link = str(page.relative_to(doc_pages.ROOT / "docs").with_suffix(".html"))
        assert link == "index.html" or f'href="{link}"' in front, f"{link} is not in the contents"
    assert "docs/index.html" in (built_site / "index.html").read_text(encoding="utf-8")


def test_search_finds_names_without_underscores(built_site):
    """A reader who searches for syncthreads expects __syncthreads."""
    text = (built_site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    (language,) = (
        n for n, name in enumerate(index["docnames"]) if name == "docs/reference/language"
    )
    pages = index["terms"]["syncthread"]  # stemmed
    assert language in pages and len(pages) > 10


# Search terms -> pages, one of which must be among the first three results.
SEARCHES = {
    "atomic add": "guide/kernels reference/language",
    "race": "mistakes glossary",
    "race condition": "mistakes",
    "out of memory": "guide/memory errors",
    "k-means": "programs",
    "illegal address": "errors",
    "deadlock": "mistakes",
    "histogram": "guide/kernels",
    "shared memory": "guide/kernels",
    "random numbers": "guide/random",
    "prefix sum": "guide/algorithms",
    "reduction": "guide/algorithms",
    "python kernel": "guide/python",
    "printf": "debugging",
    "without gpu": "simulator install",
    "profiling": "profiling",
    "several gpus": "guide/devices",
    "lattice boltzmann": "programs",
    "simulation": "programs",
    "install": "install",
    "fft": "guide/fft",
    "texture": "guide/textures",
}


def test_search_ranks_the_expected_page_in_the_top_three(built_site):
    """Ranks the pages by Sphinx's own code, with the site's weights."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node: the search of the site is JavaScript")
    done = subprocess.run(
        [node, doc_pages.ROOT / "tests/docs/search.js", built_site, json.dumps(list(SEARCHES))],
        capture_output=True,
        text=True,
        check=True,
    )
    for query, results in zip(SEARCHES, json.loads(done.stdout), strict=True):
        wanted = {f"docs/{page}" for page in SEARCHES[query].split()}
        assert wanted & set(results[:3]), f"{query}: {results[:5]}"
