"""Defines the kernel objects of users, Dispatchers: ``kernel[grid, block](...)``.

Launches are implemented in C. This module selects or compiles one overload for each list of argument types,
and inspects kernels.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from numbalite import _core, config, frontend, types
from numbalite.cxx.definition import Definition
from numbalite.errors import (
    CompileError,
    KernelWarning,
    PerformanceWarning,
    SignatureError,
    TranslationError,
    warn,
)
from numbalite.kernels import options, pyfunc
from numbalite.kernels.compiled import ByTypes, Parameters
from numbalite.kernels.kernel import Kernel
from numbalite.kernels.source import BodySource
from numbalite.types import Signature

if TYPE_CHECKING:
    from numbalite.profiler.counters import Launch


def _warn_of_host_arrays():
    """Warns of copies of host arrays, only on a GPU: on the simulator, these copies are within host
    memory."""
    if _core.driver_has("host_memory"):
        return
    if config.CUDA_WARN_ON_IMPLICIT_COPY and not config.DISABLE_PERFORMANCE_WARNINGS:
        warn(
            "Host array used in CUDA kernel will incur copy overhead to/from device.",
            PerformanceWarning,
        )


def _warn_of_small_grid():
    """Warns of a grid with fewer than 128 blocks, as numba does."""
    if config.CUDA_LOW_OCCUPANCY_WARNINGS and not config.DISABLE_PERFORMANCE_WARNINGS:
        warn(
            "Grid size below 128 will likely result in GPU under-utilization due to low occupancy.",
            PerformanceWarning,
        )


class Dispatcher(ByTypes[Parameters], _core.Dispatcher):
    """A kernel, created by ``cuda.jit`` or as a member of a module.

    ``kernel[grid, block, stream=0, shared=0](...)`` launches the kernel; arguments may be passed by name.
    Each list of argument types has its own overload, which is compiled at its first launch. Methods with a
    ``signature`` parameter return the value for the overload of that signature. Without a signature, these
    methods return the value for the only overload, or a dict for all overloads.
    """

    source_role = "kernel"
    _adjoint: Dispatcher | None = None

    # `source` is a BodySource or a ModuleSource, from which the kernels are generated.

    def __init__(
        self, source: Any, given: Iterable[Signature] = (), py_func: Callable | None = None
    ) -> None:
        self._initialize_overloads(given)
        self._source = source
        self._specialized: dict[tuple, Dispatcher] = {}
        self._py_func = py_func
        self.__name__ = source.name
        self.__qualname__ = source.qualname
        self.__module__ = source.module_name
        self.__doc__ = source.doc if source.options.doc is None else source.options.doc
        self._extensions = KernelExtensions(self, source.options.extensions)
        super().__init__(
            source.name,
            tuple(source.parameter_names),
            typed=self._only_types is not None,
            cooperative=source.cooperative,
            cluster=source.options.cluster,
            warn_host=_warn_of_host_arrays,
            warn_small=_warn_of_small_grid,
            defaults=source.defaults,
        )

    # --- selection of the overload

    def _resolve(self, device, codes, args):
        """C code calls this method with argument types that are new on this device."""
        with self._lock:
            overload = None
            try:
                overload = self._overload_for(codes, args)
                return overload.load(device)
            except (CompileError, KernelWarning, TranslationError) as problem:
                if overload is not None:
                    self._remove_overload(overload)
                raise problem.with_traceback(
                    None
                ) from None  # the message already contains the line

    @property
    def _only_types(self):
        return self._source.args if self._source.is_typed else super()._only_types

    def _build_overload(self, args):
        kernel = self._source.kernel(args)
        others = [s.args for s in self._given if s.args != args]
        if others:
            kernel.images.others = lambda: [self._source.kernel(o).images.source for o in others]
        return kernel

    def _check_signature(self, signature):
        check_signature(signature, self.__name__, self._source.parameter_names)

    def _name_in_scope(self, name):
        return self._source.find_name(name)

    # --- derivatives

    @property
    def adjoint(self) -> Dispatcher | None:
        """The kernel that computes the gradients of this kernel, for operators of PyTorch and JAX
        (numbalite.operators).

        The gradient kernel's parameters: the inputs of this kernel, a cotangent for each array that this
        kernel writes, and a gradient, initially 0, for each floating-point array that this kernel reads. The gradient kernel is launched
        with the same grid and block.
        """
        return self._adjoint

    @adjoint.setter
    def adjoint(self, kernel: Dispatcher | None) -> None:
        if kernel is not None and not isinstance(kernel, Dispatcher):
            raise TypeError(f"{self.__name__}.adjoint is a kernel, not {kernel!r}")
        self._adjoint = kernel

    # --- launching

    def configure(
        self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0
    ) -> _core.Launcher:
        """Returns the launcher ``kernel[griddim, blockdim, stream, sharedmem]``.

        Parameters
        ----------
        griddim, blockdim : int or tuple of int
            The number of blocks, and the number of threads of a block.
        stream : Stream
            The stream of the launch.
        sharedmem : int
            The dynamic shared memory in bytes.

        Returns
        -------
        Launcher
            The configured kernel: call it with the arguments.
        """
        return self[griddim, blockdim, stream, sharedmem]

    def profile(
        self, grid: Any, block: Any, *args: Any, gpu: Any = None, stream: Any = 0, shared: int = 0
    ) -> Launch:
        """Launches the kernel once and returns its predicted cost on a GPU.

        The predicted cost is that of the memory accesses. Only the simulator can
        count accesses; on a GPU, the launch is timed.

        Parameters
        ----------
        grid, block : int or tuple of int
            The number of blocks, and the number of threads of a block.
        *args : array or number
            The arguments of the kernel: ``kernel.profile(grid, block, x, y)``.
        gpu : str
            As in ``cuda.profile``.
        stream : Stream
            The stream of the launch.
        shared : int
            The dynamic shared memory in bytes.

        Returns
        -------
        Launch
            The launch, with its counters.
        """
        from numbalite.profiler.session import profile

        with profile(gpu) as p:
            self[grid, block, stream, shared](*args)
        return p.launches[-1]

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> ForAll:
        """Returns a launcher of at least ``ntasks`` threads.

        Parameters
        ----------
        ntasks : int
            The number of threads.
        tpb : int
            The number of threads of a block; by default a size that fills the
            device.
        stream : Stream
            The stream of the launch.
        sharedmem : int
            The dynamic shared memory in bytes.

        Returns
        -------
        ForAll
            The configured kernel: call it with the arguments.
        """
        return ForAll(self, ntasks, tpb, stream, sharedmem)

    def specialize(self, *args: Any) -> Dispatcher:
        """Returns a kernel for one list of argument types.

        Parameters
        ----------
        *args : object
            Arguments or types (``float32[:], int32``).

        Returns
        -------
        Dispatcher
            The kernel, compiled.

        Raises
        ------
        RuntimeError
            The kernel is specialized already.
        TypeError
            The number of arguments differs from the number of parameters.
        """
        if self.specialized:
            raise RuntimeError(
                f"Dispatcher already specialized: {self.__name__} takes "
                f"{', '.join(map(str, self._given)) or 'what its source declares'}, and nothing else"
            )
        names = self._source.parameter_names
        if len(args) != len(names):
            raise TypeError(
                f"{self.__name__}.specialize: {len(names)} arguments or types are needed "
                f"({', '.join(names)}), not {len(args)}"
            )
        wanted = tuple(self._type_of(name, arg) for name, arg in zip(names, args, strict=True))
        if wanted not in self._specialized:
            signature = Signature(types.void, wanted)
            made = type(self)(self._source, [signature], self._py_func)
            made._extensions = KernelExtensions(made, self._extensions)
            self._specialized[wanted] = made.compile_given()
        return self._specialized[wanted]

    def _type_of(self, parameter, arg):
        if isinstance(arg, types.Type):
            return arg
        try:
            return types.typeof(arg)
        except (TypeError, ValueError) as problem:
            kind = TypeError if isinstance(problem, TypeError) else ValueError
            raise kind(
                f"{self.__name__}.specialize: parameter {parameter!r}: {problem}; give an argument, or a "
                "type such as float32[:]"
            ) from None

    @property
    def specialized(self) -> bool:
        """Returns whether the kernel accepts only one list of argument types."""
        return self._only_types is not None

    @property
    def specializations(self) -> dict:
        return dict(self._specialized)

    def overload_for(self, args: Sequence) -> Kernel:
        """Returns the compiled kernel that a launch with these arguments would use."""
        codes = b"" if self.specialized else _core.typecodes(tuple(args))
        with self._lock:
            return self._overload_for(codes, tuple(args))

    # --- inspection

    @property
    def options(self) -> options.Options:
        return self._source.options

    @property
    def extensions(self) -> list:
        """Objects that may change arguments before each launch, in reverse order: each has a method
        ``prepare_args(type, value, stream, retr) -> (type, value)``."""
        return self._extensions

    @property
    def py_func(self) -> Callable[Parameters, Any]:
        """The Python function; for a C++ body, a PyFunc, which cannot be called."""
        definition = getattr(self._source, "definition", None)
        return pyfunc.get_pyfunc(
            self._py_func, self.__name__, getattr(definition, "is_python", False)
        )

    @property
    def _parameter_names(self):
        return self._source.parameter_names

    @property
    def module(self) -> Any:
        """The cuda.module that contains the kernel, or None."""
        return self._source.module

    def _find_overload(self, signature):
        found = self._parsed_signature(signature)
        if (
            self._source.is_typed
        ):  # the source may spell the declared types in another way than the signature
            return self._overload(self._only_types)
        return super()._find_overload(found)

    def _value_of_overloads(self, signature, question):
        """Returns the value for a signature, or for the only overload of a specialized kernel; otherwise a
        dict for all overloads."""
        if signature is None and self._only_types is not None:
            return question(self._overload(self._only_types))
        return self._inspect_overloads(signature, question)

    def get_regs_per_thread(self, signature: Any = None) -> Any:
        """Returns the number of registers per thread."""
        return self._value_of_overloads(signature, lambda overload: overload.regs_per_thread)

    def get_const_mem_size(self, signature: Any = None) -> Any:
        """Returns the constant memory of the kernel in bytes."""
        return self._value_of_overloads(signature, lambda overload: overload.const_mem_size)

    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Returns the static shared memory per block in bytes, without the dynamic shared memory of
        a launch."""
        return self._value_of_overloads(signature, lambda overload: overload.shared_mem_per_block)

    def get_local_mem_per_thread(self, signature: Any = None) -> Any:
        """Returns the local memory per thread in bytes."""
        return self._value_of_overloads(signature, lambda overload: overload.local_mem_per_thread)

    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """Returns the maximum block size of the kernel in threads."""
        return self._value_of_overloads(signature, lambda overload: overload.max_threads_per_block)

    def inspect_lto_ptx(self, signature: Any = None) -> Any:
        """Returns the PTX, as ``inspect_asm`` does. In numba, this method returns the PTX after link-time
        optimization; numbalite compiles a kernel together with the functions that it calls."""
        return self.inspect_asm(signature)

    def occupancy(self, block: Any, shared: int = 0, signature: Any = None) -> Any:
        """Returns the number of resident blocks per multiprocessor.

        Parameters
        ----------
        block : int or tuple of int
            The number of threads of a block.
        shared : int
            The dynamic shared memory in bytes.
        signature : str or Signature
            Selects an overload.

        Returns
        -------
        int or dict
            The number; without a signature, unless the kernel is specialized, a
            dict for all overloads.
        """
        return self._value_of_overloads(
            signature, lambda overload: overload.occupancy(block, shared)
        )

    def max_cooperative_grid_blocks(
        self, blockdim: Any, dynsmemsize: int = 0, signature: Any = None
    ) -> Any:
        """Returns the maximum number of blocks of a cooperative launch."""
        return self._value_of_overloads(
            signature, lambda overload: overload.max_cooperative_grid_blocks(blockdim, dynsmemsize)
        )

    def get_global(self, name: str, dtype: Any = None) -> Any:
        """Returns a __constant__ or __device__ variable of the kernel's module, as a device
        array."""
        if self.module is None:
            raise TypeError(
                f"{self.__name__} is a function with a body, which cannot define variables of a module"
            )
        return self.module.get_global(name, dtype)

    def __repr__(self) -> str:
        if self._given:
            return f"<CUDA kernel {self.__name__}: {', '.join(map(str, self._given))}>"
        return f"<CUDA kernel {self.__name__}({', '.join(self._source.parameter_names)})>"

    _repr_html_ = frontend.html_method("kernel")

    def __reduce__(self) -> tuple:
        extensions = list(self._extensions)
        return _unpickle, (type(self), self._source, self._given), {"extensions": extensions}

    def __setstate__(self, state: dict) -> None:
        self._extensions = KernelExtensions(self, state["extensions"])


def _unpickle(kind, source, given):
    return kind(source, given)


class KernelExtensions(list):
    """The list of a kernel's extensions. Appending the first extension converts the kernel to an
    ExtendedDispatcher."""

    def __init__(self, kernel: Dispatcher, extensions: Iterable = ()) -> None:
        super().__init__(extensions)
        self._kernel = kernel

    def _with_extensions(self, extensions):
        extensions = list(extensions)
        for extension in extensions:
            options.check_extension(extension)
        if extensions:
            self._kernel.__class__ = ExtendedDispatcher
        return extensions

    def append(self, extension: Any) -> None:
        super().extend(self._with_extensions([extension]))

    def extend(self, extensions: Iterable) -> None:
        super().extend(self._with_extensions(extensions))

    def insert(self, index: SupportsIndex, extension: Any) -> None:
        super().insert(index, *self._with_extensions([extension]))

    def __iadd__(self, extensions: Iterable) -> KernelExtensions:  # type: ignore[misc]
        return super().__iadd__(self._with_extensions(extensions))

    def __setitem__(self, index: Any, value: Any) -> None:
        found = self._with_extensions(value if isinstance(index, slice) else [value])
        super().__setitem__(index, found if isinstance(index, slice) else found[0])

    def __reduce__(self) -> tuple:
        return list, (list(self),)


class ExtendedDispatcher(Dispatcher):
    """A kernel with ``extensions=``: objects that may change arguments before each launch."""

    def __getitem__(self, configuration: Any) -> Any:
        launcher = super().__getitem__(configuration)
        items = configuration if isinstance(configuration, tuple) else (configuration,)
        stream = items[2] if len(items) > 2 else 0

        def launch(*args: Any) -> None:
            prepared: list = []
            afterwards: list = []
            for value in args:
                t = _typeof_or_none(value)
                for extension in reversed(self._extensions):
                    t, value = extension.prepare_args(t, value, stream=stream, retr=afterwards)
                prepared.append(value)
            launcher(*prepared)
            for write_back in afterwards:
                write_back()

        return launch


def _typeof_or_none(value):
    try:
        return types.typeof(value)
    except TypeError:
        return None


def _checked_integer(dispatcher, method, name, value):
    if not hasattr(value, "__index__"):
        raise TypeError(f"{dispatcher.__name__}.{method}: {name} is an integer, not {value!r}")
    return operator.index(value)


class ForAll:
    """A launcher that runs at least ``ntasks`` threads. The launcher selects the block size at each call."""

    def __init__(
        self, dispatcher: Dispatcher, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0
    ) -> None:
        ntasks = _checked_integer(dispatcher, "forall", "ntasks", ntasks)
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        self.dispatcher = dispatcher
        self.ntasks = ntasks
        self.thread_per_block = _checked_integer(dispatcher, "forall", "tpb", tpb)
        if self.thread_per_block < 0:
            raise ValueError(
                f"{dispatcher.__name__}.forall: tpb is the number of threads per block, not {tpb}"
            )
        self.stream = stream
        self.sharedmem = sharedmem

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if self.ntasks == 0:
            return
        threads = self.thread_per_block or self._thread_count(args, kwargs)
        blocks = -(-self.ntasks // threads)
        self.dispatcher[blocks, threads, self.stream, self.sharedmem](*args, **kwargs)

    def _thread_count(self, args, kwargs):
        source = self.dispatcher._source
        names = source.parameter_names[len(args) :]
        values = {**dict(zip(reversed(names), reversed(source.defaults))), **kwargs}
        ordered = [*args, *(values[name] for name in names if name in values)]
        kernel = self.dispatcher.overload_for(ordered).load()
        return kernel.max_block_size(self.sharedmem)[1]

    def __repr__(self) -> str:
        return f"<{self.dispatcher!r} for all {self.ntasks}>"


def check_signature(signature: Signature, name: str, parameters: Sequence[str]) -> None:
    """Raises an error if a signature does not match the function: the return type must be void, with one type
    per parameter."""
    if signature.return_type not in (None, types.void):
        raise TypeError("CUDA kernel must have void return type.")
    if len(signature.args) != len(parameters):
        raise SignatureError(
            f"{name} has {len(parameters)} parameters ({', '.join(parameters)}), "
            f"the signature {signature} has {len(signature.args)}"
        )


BodyKernel = BodySource  # the name of the class in pickles of earlier versions


def body_kernel(
    definition: Definition,
    options: options.Options,
    given: Iterable[Signature] = (),
    py_func: Callable | None = None,
) -> Dispatcher:
    """Returns a Dispatcher for a function with a body; declared signatures are compiled immediately."""
    for signature in given:
        check_signature(signature, definition.name, definition.parameters)
    kind = ExtendedDispatcher if options.extensions else Dispatcher
    return kind(BodySource(definition, options), given, py_func).compile_given()
