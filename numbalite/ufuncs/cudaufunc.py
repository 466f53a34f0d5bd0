"""Ufuncs on the GPU. C code implements calls of ufuncs; this module handles the first call with new types.

A CudaUfunc has one loop for each list of dtypes: the dtypes of its signatures, or, without signatures, the
dtypes of previous calls. Each loop has several kernels, one for each type of operand layout, which are
compiled when a call first needs them. The kernel for few contiguous operands (type "small") is compiled
immediately for each signature, so that errors are reported at the definition. A small kernel compiles in a
third of the time of the other kernels. Calls with many elements compile the kernel of type "flat", which also
serves later calls with few elements.
"""

from __future__ import annotations

import inspect
from typing import Any

from numbalite import _core, frontend, types
from numbalite.kernels.options import Options
from numbalite.kernels.targets import current_device, target_of

from ..errors import SignatureError
from . import cudaloops, element, resolve
from .deviceufunc import DeviceUfunc
from .methods import ReductionMethods

_QUICK_ON = ("cuda",)  # targets whose compiler is NVRTC
_CODES = {t: i + 1 for i, t in enumerate(types.SCALARS)}  # nl_dtype
_P = inspect.Parameter
_OPTIONS = (
    ("out", None), ("where", True), ("casting", "same_kind"), ("order", "K"), ("dtype", None),
    ("subok", True), ("signature", None), ("stream", 0),
)  # fmt: skip


class CudaUfunc(DeviceUfunc, ReductionMethods, _core.Ufunc):
    """A NumPy-like ufunc of a C++ function on the GPU: Called as ``f(x, y, out=None, where=True, ...)``.

    Operands are device arrays, NumPy arrays, numbers, and objects with the CUDA Array Interface or DLPack; they are
    broadcast. If all operands are on the host, the result is a NumPy array (a scalar for scalars); otherwise a device
    array. numbalite.vectorize creates such ufuncs.
    """

    def __init__(
        self, function, given=(), options=None, identity=None, doc=None, compile=True, nout=None,
        quick=False,
    ):  # fmt: skip
        self._initialize(function, given, options or Options(), doc)
        self._results = {}  # without signatures: dtypes of inputs -> dtypes of results
        self.identity = identity
        self.signature = None
        self._loops += [_signature_loop(signature) for signature in self._given]
        super().__init__(self.__name__, *self._operand_counts(nout))
        self._quick = quick
        if compile and self._given:
            self._compile_plans(map(self._first_plan, self._given))

    def _operand_counts(self, nout):
        """Returns (number of inputs, number of outputs)"""
        if self._given:
            nin = len(self._given[0].args)
            return nin, len(self._loops[0]) - nin
        nin = element.parameter_count(self._function)
        if nin is None:
            raise TypeError(
                f"{self.__name__}: the overloads in its source have different numbers of "
                "parameters: give signatures"
            )
        if nin == 0:
            raise TypeError(f"{self.__name__}: a ufunc's function has at least one parameter")
        if nout is None:
            nout = element.result_count(self._function, lambda: target_of(current_device()))
        return nin, nout

    # --- called by C code

    def _choose(self, inputs, outputs, casting, dtype, signature) -> bytes:
        """Returns the loop for a call with these types as bytes, one dtype code per operand."""
        loop = self._loop_for(inputs, outputs, casting, dtype, signature)
        return bytes(_CODES[types.scalar(t)] for t in loop)

    def _compile(self, device, loop, stored, kind, dims):
        """Returns (Kernel, block size, elements per thread) of a loop for a type of operand layout."""
        scalars = tuple(types.SCALARS[code - 1] for code in loop)
        kind = self._kernel_kind(kind, device)
        plan = cudaloops.UfuncPlan(scalars, self.nin, bytes(stored), kind, dims)
        return (
            self._compiled_overload(plan).load(device),
            cudaloops.BLOCK_THREADS,
            cudaloops.elements_per_thread(plan),
        )

    def _kernel_kind(self, kind, device):
        """Returns the type of kernel to compile. The simulator uses flat kernels instead of small ones."""
        return kind if kind != "small" or target_of(device)[0] in _QUICK_ON else "flat"

    def _loop_for(self, *asked):
        request = resolve.CallTypes(self, *asked)
        if self._given:
            return resolve.choose_loop(request, self._loops)
        loop = resolve.choose_lazily(request, self._result_dtypes)
        with self._lock:
            if loop not in self._loops:
                self._loops.append(loop)
        return loop

    def _result_dtypes(self, inputs):
        """Returns the tuple of result dtypes of the function for inputs of these dtypes."""
        with self._lock:
            found = self._results.get(inputs)
            if found is None:
                scalars = [types.scalar(t) for t in inputs]
                target = target_of(current_device())
                results = element.result_types(self._function, scalars, target)
                if len(results) != self.nout:
                    raise TypeError(
                        f"{self.__name__}({', '.join(map(str, scalars))}) returns {len(results)} "
                        f"values, the ufunc has {self.nout} output{'s' * (self.nout != 1)}: "
                        "give signatures"
                    )
                found = self._results[inputs] = tuple(t.dtype for t in results)
        return found

    # --- kernels

    def _generate(self, plan):
        return cudaloops.plan_kernel(self._function, plan, self._options)

    def _inspected_plan(self, signature):
        """Returns the launch plan for contiguous operands of the loop's types."""
        loop = signature.args + element.returned_types(signature)
        stored = bytes(_CODES[t] for t in loop)
        return cudaloops.UfuncPlan(loop, self.nin, stored, "flat", 0)

    def _first_plan(self, signature):
        """Returns the launch plan that a new signature compiles immediately."""
        kind = self._kernel_kind("small" if self._quick else "flat", current_device())
        return self._inspected_plan(signature)._replace(kind=kind)

    def add(self, sig):
        """Compiles the loop of another signature, which is tried after the existing signatures.

        Raises TypeError or SignatureError for an unsuitable signature. Adding an existing signature has no
        effect.
        """
        signature = self._parsed_signature(sig)
        if not all(isinstance(t, types.Scalar) for t in signature.args):
            raise SignatureError(
                f"{self.__name__}: a ufunc's signature has numbers only: {signature}"
            )
        if len(signature.args) != self.nin:
            raise SignatureError(
                f"{self.__name__} has {self.nin} inputs, the signature {signature} has "
                f"{len(signature.args)}"
            )
        inputs = tuple(t.dtype for t in signature.args)
        if signature.return_type is None or not self._given:
            returned = tuple(types.scalar(t) for t in self._result_dtypes(inputs))
        else:
            returned = element.returned_types(signature)
        if len(returned) != self.nout:
            raise SignatureError(f"{self.__name__} has {self.nout} outputs, not as in {signature}")
        signature = types.Signature(
            returned[0] if len(returned) == 1 else types.Tuple(returned), signature.args
        )
        with self._lock:
            if inputs in [loop[: self.nin] for loop in self._loops]:
                return
        self._compile_plans([self._first_plan(signature)])
        with self._lock:
            self._loops.append(_signature_loop(signature))
            if self._given:
                self._given = (*self._given, signature)
        self._clear()

    # --- derivatives

    def _with_function(self, function, given, nout=None):
        """Returns a ufunc of another function with the same options, compiled at its first call."""
        quick = self._quick
        return CudaUfunc(function, given, self._options, None, "", False, nout, quick)

    def derivative(self, by: int = 0) -> CudaUfunc:
        """Returns the derivative with respect to an input, as a ufunc.

        Parameters
        ----------
        by : int
            The index of the input.

        Returns
        -------
        CudaUfunc
            The derivative: ``f.derivative(1)(x, y)``.

        Raises
        ------
        ValueError
            There is no input with this index.
        """
        from . import differentiation

        return differentiation.derivative(self, by)

    def jvp(self, primals: Any, tangents: Any) -> tuple:
        """Returns the result and its derivative in the direction of the tangents.

        Parameters
        ----------
        primals : tuple of array
            The inputs; they are broadcast.
        tangents : tuple of array
            The direction, one for each input, or None for integers.

        Returns
        -------
        tuple
            (f(x...), its derivative at x...).

        Raises
        ------
        TypeError
            The numbers of primals and tangents differ, or an integer has a
            tangent.
        """
        from . import differentiation

        return differentiation.jvp(self, primals, tangents)

    def vjp(self, primals: Any, cotangents: Any) -> tuple:
        """Returns the gradients with respect to the primals.

        Parameters
        ----------
        primals : tuple of array
            The inputs.
        cotangents : tuple of array
            One for each result.

        Returns
        -------
        tuple
            The gradients, in the shapes of the primals, or None for integers.

        Raises
        ------
        TypeError
            The number of cotangents is not that of the results.
        """
        from . import differentiation

        return differentiation.vjp(self, primals, cotangents)

    def defvjp(self, *rules: Any) -> CudaUfunc:
        """Defines the derivatives by C++ texts.

        Parameters
        ----------
        *rules : str
            One for each input: a text that uses the inputs' names and ``g``,
            and returns g times the derivative.

        Returns
        -------
        CudaUfunc
            The ufunc.
        """
        from . import differentiation

        return differentiation.defvjp(self, *rules)

    # --- inspection

    @property
    def signatures(self) -> list:
        """The loops as signatures."""
        return [self._signature_of(loop) for loop in self._loops]

    def _signature_of(self, loop):
        scalars = tuple(types.scalar(t) for t in loop)
        returned = scalars[self.nin :]
        return types.Signature(
            returned[0] if len(returned) == 1 else types.Tuple(returned), scalars[: self.nin]
        )

    def _dtypes(self, loop):
        return loop

    @property
    def __signature__(self):
        names = self._function.definition.parameters
        if len(names) != self.nin:
            names = [f"x{i + 1}" for i in range(self.nin)]
        parameters = [_P(name, _P.POSITIONAL_ONLY) for name in names]
        parameters += [_P(name, _P.KEYWORD_ONLY, default=value) for name, value in _OPTIONS]
        return inspect.Signature(parameters)

    def __repr__(self):
        return f"<CUDA ufunc '{self.__name__}'>"

    _repr_html_ = frontend.html_method("ufunc")

    def __reduce__(self):
        state = self._function, self._given, self._options, self.identity, self.__doc__
        return CudaUfunc, (*state, False, self.nout, self._quick)  # compiled at the first call


def _signature_loop(signature) -> tuple:
    return tuple(t.dtype for t in signature.args + element.returned_types(signature))


# --- casts ---------------------------------------------------------------------------------------------

_casts: dict[Any, CudaUfunc] = {}  # type, and each requested dtype that denotes it -> CudaUfunc


def cast_ufunc(dtype):
    """Returns the ufunc that converts elements to a dtype, as `cast` does; raises TypeError for a dtype
    without a C++ type."""
    ufunc = _casts.get(dtype)
    if ufunc is not None:
        return ufunc
    t = types.scalar(dtype)
    ufunc = _casts.get(t)
    if ufunc is None:
        function = element.element_function(source="return x;", args="x", name="cast")
        given = [types.Signature(t, (t,))]
        ufunc = _casts[t] = CudaUfunc(function, given, Options(), None, "", compile=False)
    _casts[dtype] = ufunc
    return ufunc


def cast(array, dtype, stream=0, order="K"):
    """Converts an array to another dtype on its device, as a C cast does.

    Complex numbers become their real part; the conversion to bool tests for nonzero values.
    ``array`` is a device array with any strides; the result is a new array. Raises TypeError for a
    dtype without a C++ type.
    """
    return cast_ufunc(dtype)(array, casting="unsafe", order=order, stream=stream)
