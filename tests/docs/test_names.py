"""Names in the documentation exist: commands, targets of make, extras, variables, files."""

import re

import doc_pages
import pytest

import numbalite.__main__
from numbalite import config

ROOT = doc_pages.ROOT
TEXTS = [*doc_pages.PAGES, ROOT / "README.md", ROOT / "notebooks/README.md"]


@pytest.fixture(params=TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def page_text(request):
    return request.param.read_text(encoding="utf-8")


def test_documented_commands_exist(page_text):
    known = set(re.findall(r"^  (\w+)", numbalite.__main__.USAGE, re.M))
    named = re.findall(r"(?:python -m |^\$ |`)numbalite ([a-z]+)", page_text, re.M)
    assert set(named) <= known


def test_documented_make_targets_exist(page_text):
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()
    named = re.findall(r"(?:^\$? ?|`)make (?:\w+=\S+ )*([a-z]+)", page_text, re.M)
    assert set(named) <= set(targets)


def test_documented_extras_exist(page_text):
    pyproject = (ROOT / "pyproject.toml").read_text()
    table = pyproject.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = set(re.findall(r"^(\w+) = \[", table, re.M))
    named = re.findall(r"(?:numbalite|\.)\[([a-z\d,]+)\]", page_text)
    assert {extra for one in named for extra in one.split(",")} <= extras


def test_documented_environment_variables_exist(page_text):
    # NUMBALITE_NAME is a placeholder for any of the variables.
    named = set(re.findall(r"\bNUMBALITE_([A-Z_]+)\b", page_text)) - {"NAME", "WERROR", "SANITIZE"}
    assert named <= set(config.VARIABLES)


def test_documented_paths_exist(page_text):
    """Returns paths in code that begin with one of numbalite's packages."""
    packages = "cext|cuda_src|docs|notebooks|numbalite|tests"
    for path in re.findall(rf"`((?:{packages})/[\w./]+\w/?)`", page_text):
        assert (ROOT / path).exists(), path
