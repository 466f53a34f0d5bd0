"""Imports every theme, so that PAIRS contains all pairs."""

from pairs import (  # noqa: F401
    arithmetic,
    asynccopies,
    barriers,
    bounds,
    course,
    global_races,
    hangs,
    races,
    research,
    shared_bounds,
    stacks,
    structs,
    unwritten,
    variables,
)
from pairs.form import KINDS, PAIRS

__all__ = ["KINDS", "PAIRS"]
