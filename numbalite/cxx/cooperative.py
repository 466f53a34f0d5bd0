"""Finds the kernels that wait for the whole grid, which must be launched cooperatively. Cooperative
launches are avoided for other kernels, because all blocks of a cooperative launch must fit on the device at
once.

The search is conservative: a wait with an unknown scope counts as a wait for the grid.
"""

from __future__ import annotations

from numbalite.cxx import scanner

_GRID = frozenset(("this_grid", "grid_group"))
_WAITS = frozenset(("sync", "barrier_arrive", "barrier_wait"))
_MAKERS = frozenset(
    """this_thread_block this_thread this_cluster coalesced_threads tiled_partition binary_partition
    labeled_partition""".split()
)
_TYPES = frozenset(
    "thread_block thread_block_tile coalesced_group thread_group cluster_group".split()
)


def waits_for_grid(text: str, function: str = "") -> bool:
    """Returns whether a function of a source may wait for the whole grid. Without a function name, the text
    is the body of a kernel."""
    if not any(word in text for word in _GRID):
        return False
    if function:
        if not scanner.uses_names(text, function, _GRID):
            return False
        pieces = scanner.reachable_text(text, function)
    else:
        pieces = [text]
    tokens = [t for t in scanner.tokenize(text) if t.kind != "directive"]
    macros = [t.text for t in scanner.tokenize(text) if t.kind == "directive"]
    if any(scanner.directive_word(line) == "define" and "sync" in line for line in macros):
        return True
    others = _variables_of(tokens, _MAKERS, _TYPES) - _variables_of(
        tokens, {"this_grid"}, {"grid_group"}
    )
    return any(_has_grid_wait(scanner.tokenize(piece), others) for piece in pieces)


def _variables_of(tokens, makers, types):
    """Returns the set of names of the variables that are initialized by one of the functions, or have one of the
    types."""
    found = set()
    for i, token in enumerate(tokens):
        if token.text in makers:
            at = i - 1
            while at > 0 and (tokens[at].text == "::" or tokens[at + 1].text == "::"):
                at -= 1  # cooperative_groups::
            if at > 0 and tokens[at].text == "=":
                found.add(tokens[at - 1].text)
        elif token.text in types:
            at, depth = i + 1, 0
            while at < len(tokens) and (depth or tokens[at].text in ("<", "&", "*", "const")):
                depth += (tokens[at].text == "<") - (tokens[at].text == ">")
                at += 1
            if at < len(tokens) and tokens[at].kind == "name":
                found.add(tokens[at].text)
    return found


def _has_grid_wait(tokens, others):
    """Returns whether the tokens contain a wait that may be for the whole grid."""
    for i, token in enumerate(tokens[:-1]):
        if token.text not in _WAITS or tokens[i + 1].text != "(" or i == 0:
            continue
        if tokens[i - 1].text in (".", "->"):
            if tokens[i - 2].text in others:
                continue
            start = max((k for k in range(i) if tokens[k].text in (";", "{", "}")), default=-1)
            words = {t.text for t in tokens[start + 1 : i]}
        else:
            if tokens[min(i + 2, len(tokens) - 1)].text in others:
                continue
            end = next((k for k in range(i, len(tokens)) if tokens[k].text == ";"), len(tokens))
            words = {t.text for t in tokens[i + 2 : end]}
        if words & _GRID or not words & _MAKERS:
            return True
    return False
