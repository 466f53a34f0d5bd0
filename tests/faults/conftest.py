"""Defines fixtures that repeat an operation, each time with another failing step."""

import pytest
from kit.walk import fail_steps_until_success, fail_steps_without_repeat

from numbalite import _core


@pytest.fixture
def fail_each_step():
    """fail_each_step(operation, arm): arm(n) makes the n-th step fail, arm(0) none, and returns the number of
    steps."""
    return fail_steps_until_success


@pytest.fixture
def fail_each_step_once():
    """fail_each_step_once(operation, fail, clean): fail is _core.fail_call_at or _core.fail_alloc_at,
    clean the exceptions that may result."""
    return fail_steps_without_repeat


@pytest.fixture(autouse=True)
def _switched_off():
    """Disarms the fault injection after each test."""
    yield
    _core.fail_call_at(0)
    _core.fail_alloc_at(0)
