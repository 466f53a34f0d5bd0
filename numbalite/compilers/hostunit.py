"""Assembles the translation unit for a host compiler: the user's source, then the description tables of its
kernels and variables.

The runtime reads these tables in the image (cuda_src/sim/exports.h, cuda_src/host/exports.h).
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from numbalite.compilers.hostheaders import escape_file_name
from numbalite.compilers.sim import subscripts
from numbalite.cxx import scanner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numbalite.compilers.source import Source

END = "numbalite/image"
"""The name of the generated file after the user's source, in messages."""
_MOVES = re.compile(r"\bstd::(move|forward)\b")  # which NVRTC supports without a header
_ATTRIBUTES = re.compile(r"\b__(launch_bounds|cluster_dims)__\b")
_DESCRIBED = {
    "sim": "numbalite::nl_kernel_description<{}>",
    "host": "numbalite_sim::nl_described<{}>",
}


def translation_unit(
    source: Source, text: str, kind: str, checks: Sequence[str] = (), covers: str | None = None
) -> str:
    """Returns the translation unit without the prelude. ``text`` is the translated source, followed by the
    tables. ``kind`` is "sim" or "host". ``covers`` is a name of host.COVERAGE, or None."""
    name = escape_file_name(source.name)
    if checks or covers:  # coverage reports contain no positions in generated text
        names = "|".join(map(re.escape, {name, os.path.basename(name)}))
        directive = re.compile(rf'^(#line \d+ )"({names})"$', re.MULTILINE)
        text = directive.sub(lambda found: f'{found[1]}"numbalite/{name}"', text)
        name = f"numbalite/{name}"
    placed = f'#line 1 "{name}"\n{text}'
    attributes = []
    if checks or _ATTRIBUTES.search(text):
        attributes = list(_kernel_attributes(source.text, source.kernels))
    lines = [*_unit_head(source, text, kind), placed, f'#line 1 "{END}"']
    if kind == "sim":
        lines += ["NUMBALITE_SIM_PYTHON"] if source.is_python else []
        for i, limits in enumerate(attributes):
            lines += _kernel_limits(source.kernels[i], i, limits)
    else:
        lines += _host_table_lines(source)
    for i in range(len(source.kernels)):
        lines += _kernel_entry(source, i, kind, attributes, checks)
    if checks:
        lines.append(
            f"NUMBALITE_SIM_NAMES({subscripts.string_literal(subscripts.subscript_name_table(placed))})"
        )
    if covers:
        lines.append('#include "sim/coverage.h"')
    for i in range(len(source.variables)):
        lines += _variable_entry(source, i, kind)
    return "\n".join(lines) + "\n"


def _unit_head(source, text, kind):
    yield f'#line 1 "{END}"'  # compilers name standard input differently
    if _MOVES.search(text):
        yield "#include <utility>"
    if source.describe:
        yield '#include "numbalite/describe.cuh"'
    yield f'#include "{kind}/exports.h"'
    if kind == "sim":
        yield '#include "sim/unpredefined.h"'


def _kernel_limits(name, i, attributes):
    """Returns the C++ text of a kernel's constants for the simulator: threads per block, cluster size, and
    parameter names."""
    yield f"constexpr unsigned nl_sim_threads_{i} = {attributes.threads};"
    dims = f"numbalite_sim::cluster_dims({attributes.cluster})"
    if attributes.cluster_head:  # the expression contains the template parameters
        given = name.partition("<")[2].rpartition(">")[0]
        head = f"template <{attributes.cluster_head}> constexpr nl_sim_dim nl_sim_cluster_of_{i}()"
        yield f"{head} {{ return {dims}; }}"
        dims = f"nl_sim_cluster_of_{i}<{given}>()"
    yield f"constexpr nl_sim_dim nl_sim_cluster_{i} = {dims};"


def _host_table_lines(source):
    yield "NUMBALITE_HOST_TABLE_BEGIN"
    for i, name in enumerate((*source.kernels, *source.variables)):
        yield f'#line 1 "{END}/{i}"'
        yield f'NUMBALITE_HOST_ENTRY("{escape_file_name(name)}", &{name})'
    yield f'#line 1 "{END}"'
    yield "NUMBALITE_HOST_TABLE_END"


def _kernel_entry(source, i, kind, attributes, checks):
    name = source.kernels[i]
    address = scanner.function_address(name)
    yield f'#line 1 "{END}/{i}"'
    if kind == "sim":
        limits = f"nl_sim_threads_{i}, nl_sim_cluster_{i}" if attributes else "0"
        yield f'NUMBALITE_SIM_KERNEL({i}, "{escape_file_name(name)}", ({address}), {limits})'
    if checks:
        names = "".join(f"{parameter}," for parameter in attributes[i].parameters)
        yield f'NUMBALITE_SIM_PARAMETERS({i}, ({address}), "{names}")'
    if source.describe:
        yield f"NUMBALITE_SIM_DESCRIBE({i}, {_DESCRIBED[kind].format(f'decltype({address})')})"


def _variable_entry(source, i, kind):
    name, at = source.variables[i], len(source.kernels) + i
    yield f'#line 1 "{END}/{at}"'
    if kind == "sim":
        yield f"NUMBALITE_SIM_VARIABLE({i}, {name})"
    if source.describe:
        description = f"numbalite::nl_variable_description<decltype({name})>"
        yield f"NUMBALITE_SIM_DESCRIBE({at}, {description})"


class _KernelAttributes(NamedTuple):
    """The contents of a kernel's declaration:"""

    threads: str
    cluster: str
    cluster_head: str
    parameters: tuple


def _kernel_attributes(text: str, kernels: Sequence[str]) -> Iterator[_KernelAttributes]:
    """Yields the launch bounds and cluster size of each kernel as written in the source. The maximum number
    of threads is "0" if the source does not define it."""
    scanned = scanner.scan_source(text)[0]
    similar = {scanner.last_name(found.name): found for found in scanned}
    known = {found.name: found for found in scanned}
    for kernel in kernels:
        found = known.get(kernel) or known.get(scanner.base_name(kernel).strip().removeprefix("::"))
        limits = (
            (found.threads or "0", found.cluster, found.cluster_head) if found else ("0", "", "")
        )
        found = found or similar.get(scanner.last_name(kernel))
        yield _KernelAttributes(*limits, found.parameters if found else ())
