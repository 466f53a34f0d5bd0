"""Displays objects in a notebook: small tables of their properties.

The display never compiles a kernel; a compiled kernel may be loaded to read its number of registers. Of an
array, only the elements that NumPy would print are copied. All users' text is escaped. Colours and borders
are those of the notebook, light or dark.
"""

from __future__ import annotations

from html import escape

from numbalite import _core
from numbalite.kernels.kernel import block_threads
from numbalite.kernels.targets import current_device, target_of
from numbalite.ndarray import printing
from numbalite.runtime import devices

BLOCKS = (64, 128, 256, 512, 1024)
"""Block sizes that occupancy is shown for."""
_NOTE = '<div style="opacity: 0.65">{}</div>'


def register(formatter) -> None:
    """Registers displays in IPython for the types of the extension module, which have no display methods."""
    formatter.formatters["text/html"].for_type(_core.Launcher, launcher_html)
    formatter.formatters["text/html"].for_type(_core.Event, event_html)


# --- pieces ------------------------------------------------------------------------------------------


def _page_html(title, kind, *parts):
    head = f"<div><b><code>{escape(title)}</code></b> &nbsp;{escape(kind)}</div>"
    return f"<div>{head}{''.join(part for part in parts if part)}</div>"


def _two_column_table(rows):
    """Returns the HTML of a table of two columns: name and value."""
    lines = [
        f'<tr><td style="text-align: left">{escape(name)}</td>'
        f'<td style="text-align: left">{escape(str(value))}</td></tr>'
        for name, value in rows
    ]
    return f"<table>{''.join(lines)}</table>"


def _one_row_table(facts):
    """Returns the HTML of a table with one row of short values. Values that are None are omitted."""
    known = [(name, str(value)) for name, value in facts if value is not None]
    return _table_html([name for name, _ in known], [[value for _, value in known]])


def _table_html(heads, rows):
    """Returns the HTML of a table. Cells of the first column may wrap; all other cells stay on one
    line."""
    first, *others = heads
    cells = f'<th style="text-align: left">{escape(first)}</th>'
    cells += "".join(f"<th>{escape(head)}</th>" for head in others)
    lines = []
    for name, *values in rows:
        line = f'<td style="text-align: left">{escape(str(name))}</td>'
        line += "".join(f'<td style="white-space: nowrap">{escape(str(v))}</td>' for v in values)
        lines.append(f"<tr>{line}</tr>")
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _note_html(text):
    return _NOTE.format(escape(text)) if text else ""


def _bytes_text(number) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            break
        number /= 1024
    return f"{number:.4g} {unit}"


def _simulator_note() -> str:
    if _core.is_open() and _core.driver_kind() == "sim":
        return "on the simulator: registers and occupancy are nominal"
    return ""


# --- kernels -----------------------------------------------------------------------------------------

_HEADS = ("parameters", "registers", "shared", "local", "constant", "most threads")


def _ask_if_compiled(question, overload, *more):
    """Returns question(overload), or None if the kernel is not compiled for the current device."""
    if not _core.is_open() or target_of(current_device()) not in overload.images.compiled:
        return None
    try:
        return question(overload, *more)
    except (RuntimeError, MemoryError):  # ignore a lost or full device
        return None


def _resource_row(overload, name):
    """Returns a table row with a kernel's resources, in the columns of _HEADS; dashes if they are not available."""
    return name, *(_ask_if_compiled(_resource_columns, overload) or ("—" for _ in _HEADS[1:]))


def _resource_columns(overload):
    return (
        overload.regs_per_thread,
        _bytes_text(overload.shared_mem_per_block),
        _bytes_text(overload.local_mem_per_thread),
        _bytes_text(overload.const_mem_size),
        overload.max_threads_per_block,
    )


def occupancy(overload, block, shared=0):
    """Returns (blocks per multiprocessor, the fraction of the multiprocessor's threads in use), or None."""
    return _ask_if_compiled(_blocks_and_occupancy, overload, block, shared)


def _blocks_and_occupancy(overload, block, shared):
    if block > overload.max_threads_per_block:
        return None
    device = devices.gpus.current
    blocks = overload.occupancy(block, shared)
    threads = -(-block // device.WARP_SIZE) * device.WARP_SIZE * blocks
    return blocks, threads / device.MAX_THREADS_PER_MULTIPROCESSOR


def _occupancies(overload):
    """Returns the HTML of a table of the occupancy at usual block sizes, or "" if the occupancy is not
    available."""
    found = [(block, occupancy(overload, block)) for block in BLOCKS]
    found = [(block, known) for block, known in found if known is not None]
    if not found:
        return ""
    rows = [
        ("blocks at once in a multiprocessor", *(blocks for _, (blocks, _) in found)),
        ("of its threads in use", *(f"{part:.0%}" for _, (_, part) in found)),
    ]
    return _table_html(
        ["threads per block", *(block for block, _ in map(_labelled_item, found))], rows
    )


def _labelled_item(item):
    return str(item[0]), item[1]


def _parameters_text(dispatcher, overload):
    """Returns the parameters as text, for example "x: float32[::1], n: int32"; for a C++ source, as written
    in the source: "float* x, int n"."""
    if dispatcher._source.is_typed:
        return ", ".join(f"{row.ctype} {row.name}" for row in dispatcher._source.rows)
    names = dispatcher._parameter_names
    args = overload.signature.args if overload.signature else ()
    if len(names) != len(args):
        return ", ".join(map(str, args))
    return ", ".join(f"{name}: {t}" for name, t in zip(names, args))


def _source_html(text):
    return (
        '<details><summary style="cursor: pointer">source</summary>'
        f'<pre style="text-align: left">{escape(text.strip(chr(10)))}</pre></details>'
    )


def kernel_html(dispatcher) -> str:
    """Displays a kernel: its types, and the resources of its compiled overloads."""
    overloads = list(dispatcher._overloads.values())
    head = f"{dispatcher.__name__}({', '.join(dispatcher._parameter_names)})"
    source = _source_html(dispatcher.__doc__) if dispatcher.__doc__ else ""
    if not overloads:
        return _page_html(
            head,
            "CUDA kernel",
            _note_html("not compiled yet: the first call will tell its types"),
            source,
        )
    table = _table_html(
        _HEADS, [_resource_row(o, _parameters_text(dispatcher, o)) for o in overloads]
    )
    one = _occupancies(overloads[0]) if len(overloads) == 1 else ""
    return _page_html(head, "CUDA kernel", table, one, _note_html(_simulator_note()), source)


def overload_html(made) -> str:
    """One compiled kernel."""
    name = str(made.signature or made.expression)
    table = _table_html(_HEADS, [_resource_row(made, name)])
    return _page_html(
        made.name, "compiled kernel", table, _occupancies(made), _note_html(_simulator_note())
    )


def launcher_html(made) -> str:
    """Displays a kernel with its grid: the occupancy for this block size."""
    dispatcher = made.dispatcher
    threads, grid = block_threads(made.blockdim), block_threads(made.griddim)
    facts = [
        ("blocks", _dimensions_text(made.griddim)),
        ("threads of a block", _dimensions_text(made.blockdim)),
        ("threads in all", f"{threads * grid:,}"),
        ("dynamic shared memory", _bytes_text(made.sharedmem) if made.sharedmem else None),
    ]
    found = [(o, occupancy(o, threads, made.sharedmem)) for o in dispatcher._overloads.values()]
    rows = [
        (_parameters_text(dispatcher, one), known[0], f"{known[1]:.0%}")
        for one, known in found
        if known
    ]
    heads = ("parameters", "blocks at once in a multiprocessor", "of its threads in use")
    name = f"{dispatcher.__name__}[{_dimensions_text(made.griddim)}, {_dimensions_text(made.blockdim)}]"
    parts = (
        [_one_row_table(facts), _table_html(heads, rows), _note_html(_simulator_note())]
        if rows
        else [_one_row_table(facts)]
    )
    return _page_html(name, "kernel with its grid", *parts)


def _dimensions_text(sizes):
    sizes = tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes = sizes[:-1]
    return " × ".join(map(str, sizes))


def module_html(made) -> str:
    """Displays a module: its kernels and variables."""
    rows = []
    for name, scanned in made._kernels.items():
        arguments = ", ".join(p or f"arg{i}" for i, p in enumerate(scanned.parameters))
        rows.append((f"{name}{'<...>' if scanned.template else ''}({arguments})", "kernel"))
    rows += [(name, f"__{v.space.strip('_')}__ variable") for name, v in made._variables.items()]
    return _page_html(
        made._label, "CUDA module", _table_html(("name", "what"), rows) if rows else ""
    )


def ufunc_html(made) -> str:
    """Displays a ufunc or a generalized ufunc on the GPU: its loops."""
    kind = "CUDA gufunc" if made.signature else "CUDA ufunc"
    rows = []
    for signature, kernels in made.overloads.items():
        for one in kernels:
            rows.append(_resource_row(one, str(signature)))
    parts = [
        _one_row_table([("signature", made.signature), ("types", ", ".join(made.types) or "any")])
    ]
    if rows:
        parts += [_table_html(_HEADS, rows), _note_html(_simulator_note())]
    source = made._function.definition.text.value
    return _page_html(made.__name__, kind, *parts, _source_html(source) if source else "")


def device_function_html(made) -> str:
    """Displays a device function."""
    text = repr(made)[1:-1].removeprefix("device function ")
    return _page_html(text, "device function", _source_html(made.__doc__ or ""))


# --- memory, devices, streams -------------------------------------------------------------------------


def array_html(d) -> str:
    """Displays a device array: its properties, and the elements that `print` writes."""
    c, f = d.is_c_contiguous(), d.is_f_contiguous()
    facts = [
        ("shape", " × ".join(map(str, d.shape)) or "()"),
        ("dtype", d.dtype),
        ("elements", f"{d.size:,}"),
        ("bytes", _bytes_text(d.nbytes)),
        ("order", "C" if c else "Fortran" if f else f"strides {d.strides}"),
        ("device", _query_device(lambda: f"{d.device}: {devices.gpus[d.device].name}") or d.device),
        ("address", _query_device(lambda: f"{d.address:#x}")),
        ("access", "read-only" if d.readonly else None),
    ]
    values = f'<pre style="text-align: left">{escape(printing.displayed_text(d))}</pre>'
    return _page_html(type(d).__name__, "array in device memory", _one_row_table(facts), values)


def _query_device(question):
    """Returns question(), a query of the driver, or None if the device was reset or its context is lost."""
    try:
        return question()
    except RuntimeError:
        return None


def device_html(found) -> str:
    """Displays a device: its properties and limits."""
    major, minor = found.compute_capability
    rows = [
        ("compute capability", f"{major}.{minor}"),
        ("memory", _bytes_text(found.total_memory)),
        ("multiprocessors", found.MULTIPROCESSOR_COUNT),
        ("threads of a multiprocessor", found.MAX_THREADS_PER_MULTIPROCESSOR),
        ("threads of a block", f"at most {found.MAX_THREADS_PER_BLOCK}"),
        ("shared memory of a block", _bytes_text(found.MAX_SHARED_MEMORY_PER_BLOCK)),
        ("registers of a block", f"{found.MAX_REGISTERS_PER_BLOCK:,}"),
        ("threads of a warp", found.WARP_SIZE),
    ]
    return _page_html(found.name, f"CUDA device {found.id}", _two_column_table(rows))


def stream_html(made) -> str:
    """Displays a stream; the query does not wait."""
    is_own = made.handle > 2  # the handles 0 to 2 are names for default streams
    facts = [
        ("device", made.device),
        ("handle", f"{made.handle:#x}"),
        ("priority", made.priority if is_own else None),
        ("non-blocking", ("no", "yes")[made.non_blocking] if is_own else None),
        ("state", _stream_state(made)),
    ]
    return _page_html("Stream", "CUDA stream", _one_row_table(facts))


def _stream_state(made):
    if made.is_capturing:
        return "being captured"
    return "idle" if _answer_or_false(made.query) else "at work"


def event_html(made) -> str:
    """Displays an event; the query does not wait."""
    facts = [
        ("device", made.device),
        ("handle", f"{made.handle:#x}"),
        ("happened", "yes" if _answer_or_false(made.query) else "no"),
    ]
    return _page_html("Event", "CUDA event", _one_row_table(facts))


def _answer_or_false(question):
    try:
        return question()
    except RuntimeError:  # the device is lost, or was reset
        return False


def graph_html(made) -> str:
    """Displays a graph: its launches."""
    if made.is_capturing:
        return _page_html("Graph", "CUDA graph", _note_html("being captured"))
    return _page_html(
        "Graph", "CUDA graph", _one_row_table([("kernel launches", len(made.launches))])
    )


def pool_html(made) -> str:
    """Displays a pool of device memory or of host memory."""
    facts = []
    for name in ("used", "cached", "peak", "locked", "limit"):
        value = getattr(made, name, None)
        facts.append((name, None if value is None else _bytes_text(value)))
    number = getattr(made, "device", None)
    title = "memory pool" if number is not None else "host memory pool"
    kind = f"of device {number}" if number is not None else "for results and pinned arrays"
    return _page_html(title, kind, _one_row_table(facts))
