"""Translates scalar functions of random and np.random for functions on the CPU, where each thread has its own
generator (numbalite.seed). Kernels use cuda.random."""

from __future__ import annotations

import ast
import random
from typing import Any

import numpy as np

from numbalite import types
from numbalite.python import arithmetic, remedies
from numbalite.python.arithmetic import convert_value
from numbalite.python.calls import Rule
from numbalite.python.problem import Problem
from numbalite.python.values import Value, is_integral, is_number, number


def _cpu_only_rule(rule: Rule) -> Rule:
    def translate_call(call):
        if call.of.session.is_kernel:
            raise Problem(
                call.node, f"{call.function_text} has no meaning in a kernel", remedies.RANDOM
            )
        for value in (*call.args, *call.keywords.values()):
            if not is_number(value.type):
                call.fail("takes numbers, and gives one: a loop fills an array")
        return rule(call)

    return translate_call


def _distribution_rule(function: str, *names: str, defaults: Any = ()) -> Rule:
    """Returns the rule for a CPU function that draws a float64 from a distribution. `defaults` are the values
    of the last parameters, for calls that omit them."""

    def translate_call(call):
        given = call.bind_arguments(*names, optional=len(defaults))
        first = len(names) - len(defaults)
        given = [v or number(defaults[k - first]) for k, v in enumerate(given)]
        texts = ", ".join(convert_value(v, types.float64).text for v in given)
        return call.result(types.float64, f"{function}({texts})", calls=True)

    return _cpu_only_rule(translate_call)


def _integer_rule(inclusive: bool, *names: str) -> Rule:
    """Returns the rule for a CPU function that draws an integer from low to high, or from 0 with one
    argument. If `inclusive`, the upper limit is also a possible result."""

    def translate_call(call):
        low, high = call.bind_arguments(*names, optional=not inclusive)
        if high is None:
            low, high = number(0), low
        if not is_integral(low.type) or not is_integral(high.type):
            call.fail("takes integers")
        if inclusive:
            high = arithmetic.binary(ast.Add, high, number(1))
        a, b = (convert_value(v, types.float64).text for v in (low, high))
        return call.result(types.int64, f"int64(floor(random_uniform({a}, {b})))", calls=True)

    return _cpu_only_rule(translate_call)


def _translate_seed(call) -> Value:
    (value,) = call.bind_arguments("seed")
    return call.result(types.void, f"random_seed({value.text})", calls=True)


_UNIFORM = _distribution_rule("random_uniform")
_NORMAL = _distribution_rule("random_normal")
RULES: dict[Any, Rule] = {
    **dict.fromkeys((random.random, np.random.random, np.random.rand), _UNIFORM),
    **dict.fromkeys((np.random.random_sample, np.random.ranf, np.random.sample), _UNIFORM),
    **dict.fromkeys((np.random.randn, np.random.standard_normal), _NORMAL),
    random.uniform: _distribution_rule("random_uniform", "a", "b"),
    np.random.uniform: _distribution_rule("random_uniform", "low", "high", defaults=(0, 1)),
    **dict.fromkeys(
        (random.gauss, random.normalvariate),
        _distribution_rule("random_normal", "mu", "sigma", defaults=(0, 1)),
    ),
    np.random.normal: _distribution_rule("random_normal", "loc", "scale", defaults=(0, 1)),
    random.randint: _integer_rule(True, "a", "b"),
    np.random.randint: _integer_rule(False, "low", "high"),
    random.randrange: _integer_rule(False, "start", "stop"),
    **dict.fromkeys((random.seed, np.random.seed), _cpu_only_rule(_translate_seed)),
}
