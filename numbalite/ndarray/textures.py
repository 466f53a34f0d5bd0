"""Creates textures and surfaces: arrays that kernels read by coordinates, with filtering and border modes.

`texture` copies an array to a CUDA array and returns its texture object, for a kernel parameter of type
``cudaTextureObject_t``. `surface` does the same for arrays that kernels also write. The returned Python objects are
integers that keep the CUDA array alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.ndarray import arrays, foreign
from numbalite.runtime import devices, shapes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_FORMATS = {
    "u1": 0x01, "u2": 0x02, "u4": 0x03, "i1": 0x08, "i2": 0x09, "i4": 0x0A, "f2": 0x10, "f4": 0x20,
}  # fmt: skip
_ADDRESSES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
_FILTERS = {"nearest": 0, "linear": 1}
_LAYERED, _SURFACE, _CUBEMAP, _GATHER = 1, 2, 4, 8
_AS_INTEGER, _NORMALIZED = 1, 2


class _TextureArray:
    """A CUDA array (memory for texture units), with the shape and dtype of the copied array."""

    def __init__(self, source, channels, layered, cubemap, flags):
        self.dtype, self.format = _texture_format(source.dtype)
        self.shape, self.channels, self.layered, self.cubemap = (
            source.shape,
            channels,
            layered,
            cubemap,
        )
        extents = _descriptor_extents(source.shape, channels, layered, cubemap)
        self.dimensions = 2 if cubemap else len(source.shape) - (channels > 1) - layered
        flags |= _LAYERED * layered | _CUBEMAP * cubemap
        self.row = extents[0] * channels * self.dtype.itemsize
        self.handle = _core.TextureHandle.array(extents, self.format, channels, flags)
        self.write_elements(source)

    def write_elements(self, source):
        with devices.gpus[self.handle.device]:
            dense = (
                arrays.to_device(np.ascontiguousarray(source))
                if isinstance(source, np.ndarray)
                else source.copy()
            )
            self.handle.copy(_device_address(dense), self.row, True)

    def read_elements(self):
        with devices.gpus[self.handle.device]:
            dense = arrays.device_array(self.shape, self.dtype)
            self.handle.copy(_device_address(dense), self.row, False)
            return dense.copy_to_host()


class Texture(int):
    """A texture object: an integer for kernel parameters of type ``cudaTextureObject_t`` or an integer type.

    `texture` creates it. Keep the texture object alive as long as kernels use it.
    """

    _handle: Any
    _over: Any

    def __repr__(self) -> str:
        return f"<texture object {int(self):#x}>"

    def __reduce__(self) -> tuple:
        raise TypeError(
            "a texture belongs to this process and its device: pickle the array, and create a new texture"
        )


class Surface(int):
    """A surface object: an integer for kernel parameters of type ``cudaSurfaceObject_t`` or an integer type.

    `surface` creates it. Keep the surface object alive as long as kernels use it.
    """

    _handle: Any
    _over: Any

    @property
    def shape(self) -> tuple:
        return self._over.shape

    @property
    def dtype(self) -> np.dtype:
        return self._over.dtype

    def copy_to_host(self) -> np.ndarray:
        """Copies the contents of the surface to a new NumPy array; waits for the device."""
        return self._over.read_elements()

    def copy_from(self, array: Any) -> None:
        """Writes an array of the surface's shape and dtype. Waits for the device."""
        source = _source_array(array)
        if source.shape != self.shape or source.dtype != self.dtype:
            raise ValueError(
                f"the surface has shape {self.shape} and dtype {self.dtype}, the array {source.shape} and "
                f"{source.dtype}"
            )
        self._over.write_elements(source)

    def __repr__(self) -> str:
        return f"<surface object {int(self):#x}, {self.shape} of {self.dtype}>"

    def __reduce__(self) -> tuple:
        raise TypeError("a surface belongs to this process and its device: pickle copy_to_host()")


def texture(
    array: Any,
    address: str | Sequence[str] = "clamp",
    filter: str = "nearest",
    normalized: bool = False,
    *,
    read: str = "element",
    channels: int = 1,
    layered: bool = False,
    cubemap: bool = False,
    gather: bool = False,
    border: float | Sequence[float] = 0.0,
    in_place: bool = False,
) -> Texture:
    """Creates a texture object from an array or a surface, for kernels.

    Parameters
    ----------
    array : array or Surface
        1 to 3 dimensions (the last is x), on the host or a device, of
        float32, float16 or integers of 1, 2 or 4 bytes.
    address : str or list of str
        "clamp", "border", "wrap" or "mirror" for coordinates outside the array,
        for all axes or one value for each axis (x first); "wrap" and "mirror"
        require normalized coordinates.
    filter : str
        "nearest" or "linear", whose weights have 8 fractional bits.
    normalized : bool
        True: coordinates range from 0 to 1.
    read : str
        "element", or "normalized", which converts small integers to floats
        in 0 to 1 (-1 to 1 if signed).
    channels : int
        1, 2 or 4; with 2 or 4, the last axis of the array has the
        components of a texel.
    layered : bool
        True: the first axis is the layer.
    cubemap : bool
        True: the first axis is the face, one of six.
    gather : bool
        True: the CUDA array is created with the driver's flag for texture
        gather.
    border : float or list of float
        The value outside the array, or one value for each channel.
    in_place : bool
        True: uses the array's memory instead of a copy. The array must be a
        device array. For tex1Dfetch, it has one dimension; for tex2D, it has
        two, and row strides (``arrays.strides``) that are multiples of 32
        bytes.

    Returns
    -------
    Texture
        An integer for a kernel parameter of type ``cudaTextureObject_t``.
        Keep the Texture alive as long as kernels use it.

    Raises
    ------
    TypeError
        Textures do not support the dtype, or do not support it with this
        ``filter`` or ``read``. TypeError is also raised if ``in_place`` is used
        for another array than a device array; or a surface is passed together
        with its own parameters (``channels``, ``layered``, ...).
    ValueError
        An argument has an invalid value, or the shape or the strides do not
        fit.

    Examples
    --------
    >>> t = cuda.texture(np.arange(4, dtype=np.float32), filter="linear")
    >>> @cuda.jit
    ... def sample(t, out):
    ...     "out[threadIdx.x] = tex1D<float>(t, threadIdx.x + 0.75f);"
    >>> out = np.zeros(3, np.float32)
    >>> sample[1, 3](t, out)
    >>> out
    array([0.25, 1.25, 2.25], dtype=float32)
    """
    modes = _address_modes(address, normalized)
    if filter not in _FILTERS:
        raise ValueError(f"filter is 'nearest' or 'linear', not {filter!r}")
    if read not in ("element", "normalized"):
        raise ValueError(f"read is 'element' or 'normalized', not {read!r}")
    if isinstance(array, Surface):
        if channels != 1 or layered or cubemap or gather or in_place:
            raise TypeError(
                "a texture of a surface has the channels, layers and faces of the surface"
            )
        over = array._over
    else:
        source = _source_array(array)
        _check_shape(source, channels, layered, cubemap)
        over = (
            source
            if in_place
            else _TextureArray(source, channels, layered, cubemap, _GATHER * gather)
        )
    kind = np.dtype(over.dtype)
    if kind.kind in "iu":
        if read == "normalized" and kind.itemsize == 4:
            raise TypeError(f"read='normalized' is for integers of 1 and 2 bytes, not {kind}")
        if filter == "linear" and read == "element":
            raise TypeError(
                f"filter='linear' on {kind} needs read='normalized': integers have no values between"
            )
    flags = _NORMALIZED * bool(normalized) | _AS_INTEGER * (read == "element" and kind.kind in "iu")
    what = _in_place_resource(over, channels) if in_place else over.handle
    colour = (
        tuple(map(float, shapes.tuple_of_items(border, "border")))
        if np.iterable(border)
        else (float(border),) * 4
    )
    if len(colour) > 4:
        raise ValueError(f"border has up to 4 values, not {len(colour)}")
    colour += (0.0,) * (4 - len(colour))
    handle = _core.TextureHandle.object(what, modes, _FILTERS[filter], flags, colour)
    made = Texture(handle.handle)
    made._handle, made._over = handle, over
    return made


def surface(
    array: Any, *, channels: int = 1, layered: bool = False, cubemap: bool = False
) -> Surface:
    """Creates a surface object from an array, which kernels also write.

    Kernels access the surface by surf2Dread, surf2Dwrite and similar functions,
    whose x coordinate is in bytes.

    Parameters
    ----------
    array : array
        The array, with the same requirements as for `texture`.
    channels, layered, cubemap
        As in texture.

    Returns
    -------
    Surface
        An integer for a kernel parameter of type ``cudaSurfaceObject_t``.
        `Surface.copy_to_host` returns the contents of the surface. The function
        `texture` also accepts a surface.

    Raises
    ------
    TypeError
        Surfaces do not support the dtype.
    ValueError
        ``channels`` has an invalid value, or the shape does not fit.

    Examples
    --------
    >>> s = cuda.surface(np.arange(4, dtype=np.float32))
    >>> s.copy_to_host()
    array([0., 1., 2., 3.], dtype=float32)
    """
    source = _source_array(array)
    _check_shape(source, channels, layered, cubemap)
    over = _TextureArray(source, channels, layered, cubemap, _SURFACE)
    handle = _core.TextureHandle.surface(over.handle)
    made = Surface(handle.handle)
    made._handle, made._over = handle, over
    return made


def _source_array(array):
    if isinstance(array, np.ndarray) or isinstance(array, arrays.DeviceNDArray):
        return array
    if hasattr(array, "__cuda_array_interface__"):
        return foreign.as_cuda_array(array)
    return np.asarray(array)


def _texture_format(dtype):
    dtype = np.dtype(dtype)
    found = _FORMATS.get(dtype.kind + str(dtype.itemsize)) if dtype.isnative else None
    if found is None:
        raise TypeError(
            f"textures have float32, float16 and integers of 1, 2 and 4 bytes, not {dtype}; a float64 can be "
            "read as two int32 channels"
        )
    return dtype, found


def _check_shape(source, channels, layered, cubemap):
    if channels not in (1, 2, 4):
        raise ValueError(f"a texel has 1, 2 or 4 channels, not {channels}")
    shape = source.shape
    if channels > 1:
        if not shape or shape[-1] != channels:
            raise ValueError(
                f"with channels={channels} the last axis has {channels} elements; the shape is {shape}"
            )
        shape = shape[:-1]
    wanted = (3,) if cubemap else (2, 3) if layered else (1, 2, 3)
    if len(shape) not in wanted or 0 in shape:
        what = "cubemap" if cubemap else "layered texture" if layered else "texture"
        raise ValueError(
            f"a {what} has {' or '.join(map(str, wanted))} non-empty dimensions; the shape is {shape}"
        )
    if cubemap and (shape[1] != shape[2] or shape[0] % 6 or (shape[0] != 6 and not layered)):
        raise ValueError(f"a cubemap has shape (6, n, n), with layers (6 k, n, n), not {shape}")


def _descriptor_extents(shape, channels, layered, cubemap):
    """Returns (width, height, depth) of the driver's array descriptor."""
    shape = shape[:-1] if channels > 1 else shape
    if layered and not cubemap and len(shape) == 2:
        return shape[1], 0, shape[0]
    return (*shape[::-1], 0, 0)[:3]


def _address_modes(address, normalized):
    given = (
        (address,) * 3 if isinstance(address, str) else shapes.tuple_of_items(address, "address")
    )
    if not 1 <= len(given) <= 3:
        raise ValueError(f"address is one text or up to three, not {address!r}")
    for one in given:
        if one not in _ADDRESSES:
            raise ValueError(f"address is 'clamp', 'border', 'wrap' or 'mirror', not {one!r}")
        if one in ("wrap", "mirror") and not normalized:
            raise ValueError(f"address={one!r} requires normalized=True, because of the hardware")
    return tuple(_ADDRESSES[one] for one in (*given, *("clamp",) * (3 - len(given))))


def _in_place_resource(array, channels):
    """Returns the resource of an in-place texture: (address, format, channels, width, height, pitch
    or bytes)."""
    if not isinstance(array, arrays.DeviceNDArray):
        raise TypeError("in_place=True is for device arrays")
    dtype, number = _texture_format(array.dtype)
    texel = channels * dtype.itemsize
    shape, strides = array.shape, array.strides
    if channels > 1:
        if strides[-1] != dtype.itemsize:
            raise ValueError("in_place=True: the channels of a texel must be contiguous")
        shape, strides = shape[:-1], strides[:-1]
    if len(shape) > 2 or strides[-1] != texel:
        raise ValueError(
            f"in_place=True needs 1 or 2 dimensions with dense rows, not shape {array.shape}"
        )
    if len(shape) == 1:
        return _device_address(array), number, channels, shape[0], 0, shape[0] * texel
    if strides[0] % 32 or strides[0] < shape[1] * texel:
        raise ValueError(
            f"in_place=True: the row stride must be a multiple of 32 bytes, but is {strides[0]}"
        )
    return _device_address(array), number, channels, shape[1], shape[0], strides[0]


def _device_address(array):
    return array.__cuda_array_interface__["data"][0]
