"""Every program on every page of docs/ runs, and prints the output on the page."""

import gc
import re
import warnings

import doc_pages
import pytest

# The number of blocks of a page that are not run; the comment before each gives the reason.
SHOWN = {
    "coming-from-cupy.md": 4,
    "coming-from-numba.md": 5,
    "coming-from-pycuda.md": 2,
    "guide/derivatives.md": 1,
    "guide/device-libraries.md": 1,
    "guide/exchange.md": 2,
    "guide/kernels.md": 1,
    "guide/memory.md": 1,
    "guide/operators.md": 4,
    "programs.md": 1,
    "stopping.md": 1,
    "teaching.md": 1,
    "what-to-use-cupy-for.md": 2,
}
# Other languages of blocks: commands, and the site's own directives.
OTHER = re.compile(r"console|bash|yaml|toml|\{[\w:-]+\}.*")
CALL_TREES = ("contributing.md", "text")
"""The page and the language of the blocks that tests/layout/test_code_paths.py checks."""


def page_name(path):
    return str(path.relative_to(doc_pages.ROOT / "docs"))


@pytest.fixture(params=doc_pages.PAGES, ids=page_name)
def page_path(request):
    return request.param


def test_code_blocks_have_a_known_language(page_path):
    """No block is skipped because of an unknown language or an unknown comment."""
    found = doc_pages.parse_blocks(page_path)
    for block in found:
        place = f"{page_name(page_path)}:{block.line}"
        is_other = OTHER.fullmatch(block.info) or (page_name(page_path), block.info) == CALL_TREES
        assert block.is_program or block.is_shown_only or is_other, (
            f"{place}: a block of {block.info or 'no language'!r}"
        )
        marked = block.mark in ("", *doc_pages.DRIVERS) or re.match("not run: .", block.mark)
        assert marked, f"{place}: what does the comment {block.mark!r} mean?"
    shown = sum(block.is_shown_only for block in found)
    assert shown == SHOWN.get(page_name(page_path), 0), "say in SHOWN how many blocks are not run"


def test_programs_of_the_pages_run(page_path, driver_kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    names = {"__name__": "__main__"}
    if (
        page_name(page_path) == "guide/memory.md"
    ):  # it prints the used memory, which includes leftovers of other modules
        gc.unfreeze()
    gc.collect()  # memory left by the previous page is not counted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in doc_pages.parse_blocks(page_path):
            if not block.is_program or block.is_shown_only:
                continue
            if doc_pages.DRIVERS.get(block.mark, driver_kind) != driver_kind:
                continue
            try:
                doc_pages.run_block(block, names)
            except Exception as problem:
                raise AssertionError(
                    f"{page_name(page_path)}, the block on line {block.line}"
                ) from problem
