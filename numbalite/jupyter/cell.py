"""Implements %%cuda: a cell of CUDA C++ whose kernels become Python objects.

The cell is a translation unit as for `cuda.module`, with its line numbers. Like the body of a function, the
cell can use numbers, arrays and device functions of the notebook by name. Nothing changes in the notebook
unless the whole cell compiles.
"""

from __future__ import annotations

import re
import sys

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from numbalite.cxx import capture, linemap, scanner
from numbalite.cxx.definition import Definition
from numbalite.kernels import builder, options
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.kernels.module import Module, device_code
from numbalite.profiler.session import profile


def _add_argument(*names, **keywords):
    """Returns the decorator that adds an argument to the magic. A "%" in the argument's help text need not be
    doubled."""
    return argument(*names, **keywords)


@magics_class
class CudaCell(Magics):
    """The magic %%cuda."""

    @no_var_expand
    @magic_arguments()
    @_add_argument(
        "names", nargs="*", metavar="NAME",
        help="kernels and device functions to make; default: every kernel that is no template (and the "
        "device functions of a cell without kernels). Instances of templates: saxpy<float>, or under a "
        "name of their own saxpy_f=saxpy<float>",
    )  # fmt: skip
    @_add_argument("-p", "--prefix", default="", help="what the Python names begin with")
    @_add_argument(
        "-m", "--module", metavar="NAME", help="a name for the whole module, which has get_global()"
    )
    @_add_argument("-d", "--device", action="store_true", help="make all device functions too")
    @_add_argument(
        "-g", "--debug", action="store_true", help="check indices and asserts, do not optimise"
    )
    @_add_argument(
        "--boundscheck", action="store_true", help="check indices and asserts in optimised code"
    )
    @_add_argument("--fastmath", action="store_true", help="fast, less accurate mathematics")
    @_add_argument("--lineinfo", action="store_true", help="line numbers for profilers")
    @_add_argument(
        "-I",
        "--include",
        action="append",
        default=[],
        metavar="DIR",
        help="look for headers in DIR",
    )
    @_add_argument(
        "-D", "--define", action="append", default=[], metavar="X=1", help="define a macro"
    )
    @_add_argument("--std", metavar="STD", help="the language: c++17 (default), c++20, ...")
    @_add_argument("--max-registers", type=int, metavar="N", help="registers that a thread may use")
    @_add_argument(
        "--profile", metavar="STATEMENT",
        help="then run a Python statement, in quotes, and show what its launches cost on a GPU (on the simulator): "
        "--profile 'scale[4, 128](x, 2.0, n)'",
    )  # fmt: skip
    @_add_argument(
        "--gpu", metavar="GPU", help="the GPU for --profile: H100 (default), H200, T4, ..."
    )
    @_add_argument("-o", "--option", action="append", default=[], metavar="OPT",
          help="an option for the compiler: -o=--use_fast_math")  # fmt: skip
    @cell_magic
    def cuda(self, line, cell):
        """Compiles the cell as CUDA C++ and assigns its kernels to names of the notebook.

        ::

            %%cuda
            __global__ void scale(float *x, float a, int n) {
                int i = grid<1>();
                if (i < n) x[i] *= a;
            }

        In another cell, call ``scale[blocks, threads](x, 2.0, n)``. Python's numbers, NumPy arrays
        and device functions whose names the cell uses without a declaration are read from the
        notebook when the cell runs. Running the cell again replaces the kernels.
        """
        given = parse_argstring(self.cuda, line)
        wanted = [_parse_argument(name) for name in given.names]
        if given.module is not None and not given.module.isidentifier():
            raise UsageError(
                f"--module {given.module}: that is not a valid name of a Python variable"
            )
        text = linemap.consecutive_text(cell, *_origin_of_cell(self.shell, cell))
        made = self._make_objects(text, wanted, given)
        for name in made:
            if not name.isidentifier():
                raise UsageError(f"{name!r} is not a valid name of a Python variable")
        self.shell.push(made)
        if given.profile is None:
            return None
        with profile(_unquoted_argument(given.gpu)) as profiled:
            exec(
                compile(_unquoted_argument(given.profile), "<--profile>", "exec"),
                self.shell.user_ns,
            )
        return profiled

    def _make_objects(self, text, wanted, given):
        """Returns {Python name: kernel, device function or module}."""
        parsed = _kernel_options(given)
        text, parsed, left_out = device_code(text, parsed, [name for _, name in wanted])
        if left_out:
            print(f"left out, as host code: {', '.join(left_out)}", file=sys.stderr)
        kernels, _ = scanner.scan_source(text.value)
        functions = _device_functions(text.value, kernels)
        plain = [k.name for k in kernels if not k.template and not k.conditional]
        if not wanted:
            wanted = [(None, name) for name in plain]
        elif unknown := [e for _, e in wanted if not _is_in_source(e, text.value)]:
            known = (
                ", ".join([k.name for k in kernels] + functions) or "nothing that could be named"
            )
            raise UsageError(f"the cell has no {unknown[0]}; it has {known}")
        chosen = [name for name in functions if any(e == name for _, e in wanted)]
        if given.device or not (kernels or chosen):
            chosen += [name for name in functions if name not in chosen]
        instances = [(name, e) for name, e in wanted if e not in functions]
        if not (instances or chosen):
            _refuse_templates(kernels)
        scope = capture.Scope({}, self.shell.user_ns)
        made = {}
        if kernels:
            before, refused = builder.scope_source(_definition("cell", text, scope))
            before = linemap.consecutive_text(
                _define_directives(given.define) + before.value, before.label
            )
            module = Module(
                text, parsed, [e for _, e in instances], given.module or "the cell",
                before=before if before.value else None, refused=refused,
            )  # fmt: skip
            module._compile()
            for name, expression in instances:
                made[name or _python_name(expression, instances)] = module[expression]
            if given.module:
                made[given.module] = module
        rest = text.replace(scanner.without_kernels(text.value))
        for name in chosen:
            as_ = next((n for n, e in wanted if e == name and n), name)
            made[as_] = DeviceFunction(_definition(name, rest, scope), (), parsed)
        return {
            given.prefix + name if name != given.module else name: v for name, v in made.items()
        }


def _unquoted_argument(text):
    """Returns an argument without the quotes that IPython leaves around it."""
    if text and len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _definition(name, text, scope):
    return Definition(name, (), text, scope, is_unit=True)


def _origin_of_cell(shell, cell):
    """Returns (the name of the running cell in messages, as in IPython; the line number at which the source begins)."""
    frame, label = sys._getframe(1), "<cell>"
    while frame is not None:
        name = linemap.file_label(frame.f_code.co_filename)
        if name != frame.f_code.co_filename:
            label = name
            break
        frame = frame.f_back
    raw = shell.history_manager.input_hist_raw[-1] if shell.history_manager else ""
    body = cell.rstrip("\n")  # IPython's history has no empty lines at the end
    above = raw.removesuffix(body) if raw.endswith(body) else "\n"
    return label, above.count("\n") + 1


def _kernel_options(given):
    more = [f"-I{folder}" for folder in given.include]
    said = {
        "fastmath": given.fastmath, "lineinfo": given.lineinfo, "boundscheck": given.boundscheck,
        "max_registers": given.max_registers, "options": [*more, *given.option],
    }  # fmt: skip
    if given.debug:
        said["debug"] = True
    if given.std:
        said["std"] = given.std
    try:
        return options.parse_options(said, "%%cuda")
    except (TypeError, ValueError) as problem:
        raise UsageError(str(problem)) from None


def _define_directives(definitions):
    """Returns -D X=1 as text before the cell, because a compiler option would also affect the library's
    headers."""
    lines = []
    for definition in definitions:
        name, equals, value = definition.strip("\"'").partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*(\([\w, ]*\))?", name):
            raise UsageError(f"-D {definition}: {name!r} is no name for a macro")
        lines.append(f"#define {name} {value if equals else 1}\n")
    return "".join(lines)


def _parse_argument(text):
    """Returns (Python name or None, name expression) of an argument such as ``f=saxpy<float>``"""
    name, equals, expression = text.strip("\"'").partition("=")
    return (name, expression) if equals else (None, name)


def _is_in_source(expression, text):
    word = re.escape(_unqualified_name(expression))
    return "#include" in text or re.search(rf"\b{word}\b", text) is not None


def _device_functions(text, kernels):
    names = {scanner.base_name(kernel.name) for kernel in kernels}
    return [name for name in scanner.functions(text) if name not in names and name.isidentifier()]


def _python_name(expression, instances):
    """Returns a kernel's Python name: the name without namespaces; instances of one template have different
    names, with their arguments."""
    base = _unqualified_name(expression)
    rivals = [e for name, e in instances if name is None and _unqualified_name(e) == base]
    return base if len(rivals) == 1 else re.sub(r"\W+", "_", expression).strip("_")


def _unqualified_name(expression):
    return scanner.last_name(expression)


def _refuse_templates(kernels):
    templates = [k.name for k in kernels if k.template]
    if templates:
        one = templates[0]
        raise UsageError(
            f"{one} is a template: select an instance, for example %%cuda {one}<float>"
        )
    if kernels:
        raise UsageError(
            f"{kernels[0].name} is inside #if: select it by its name, %%cuda {kernels[0].name}"
        )
    raise UsageError("the cell has neither a kernel (a function with __global__) nor a function")
