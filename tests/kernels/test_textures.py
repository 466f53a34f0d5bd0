"""Tests textures and surfaces on the driver of the session: coordinates out of range, filters,
shapes, lifetimes."""

import gc
import pickle

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

SOURCE = """
#define AT int i = threadIdx.x
__global__ void one(cudaTextureObject_t t, const float* x, float* o) { AT; o[i] = tex1D<float>(t, x[i]); }
__global__ void ints(unsigned long long t, const float* x, int* o) { AT; o[i] = tex1D<int>(t, x[i]); }
__global__ void two(cudaTextureObject_t t, const float* x, const float* y, float* o) {
    AT; o[i] = tex2D<float>(t, x[i], y[i]);
}
__global__ void three(cudaTextureObject_t t, const float* x, const float* y, const float* z, float* o) {
    AT; o[i] = tex3D<float>(t, x[i], y[i], z[i]);
}
__global__ void four(cudaTextureObject_t t, const float* x, const float* y, float4* o) {
    AT; tex2D(&o[i], t, x[i], y[i]);
}
__global__ void layers(cudaTextureObject_t t, cudaTextureObject_t u, const int* l, float2* o) {
    AT; o[i] = make_float2(tex1DLayered<float>(t, 0.5f, l[i]), tex2DLayered<float>(u, 0.5f, 1.5f, l[i]));
}
__global__ void cube(cudaTextureObject_t t, const float* x, const float* y, const float* z, float* o) {
    AT; o[i] = texCubemap<float>(t, x[i], y[i], z[i]);
}
__global__ void gather(cudaTextureObject_t t, float4* o) { AT; o[i] = tex2Dgather<float4>(t, 1.0f, 1.0f, 0); }
__global__ void addressed(cudaTextureObject_t t, cudaTextureObject_t u, cudaTextureObject_t v, float* o, int* there) {
    bool b[6] = {};
    float4 g;
    float2 d = make_float2(0, 0);
    float4 e = make_float4(0, 0, 0, 0);
    tex2DLod(o, t, 1.5f, 0.5f, 0.0f);
    tex2DGrad(o + 1, t, 1.5f, 0.5f, d, d, b);
    o[2] = tex2D<float>(t, 1.5f, 1.5f, b + 1);
    tex2D(o + 3, t, 0.5f, 1.5f, b + 2);
    o[4] = tex3DLod<float>(u, 1.5f, 0.5f, 1.5f, 0.0f, b + 3);
    tex3DGrad(o + 5, u, 0.5f, 0.5f, 1.5f, e, e);
    tex2DLayered(o + 6, v, 0.5f, 1.5f, 1, b + 4);
    tex2Dgather(&g, t, 1.0f, 1.0f, b + 5);
    o[7] = g.x;
    o[8] = tex2Dgather<float4>(t, 1.0f, 1.0f, b + 5, 0).y;
    for (int i = 0; i < 6; ++i) *there += b[i];
}
__global__ void fetch(cudaTextureObject_t t, float* o) { AT; o[i] = tex1Dfetch<float>(t, i - 1); }
__global__ void shift(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    AT; int j = threadIdx.y;
    uchar2 v = surf2Dread<uchar2>(from, i * 2, j);
    surf2Dwrite(make_uchar2(v.y, v.x), to, (i + 1) * 2, j, cudaBoundaryModeZero);
}
__global__ void edges(cudaSurfaceObject_t s, int* o) {
    o[0] = surf1Dread<int>(s, -4, cudaBoundaryModeClamp);
    o[1] = surf1Dread<int>(s, 400, cudaBoundaryModeClamp);
    o[2] = surf1Dread<int>(s, 400, cudaBoundaryModeZero);
}
__global__ void deep(cudaSurfaceObject_t s) {
    surf3Dwrite((float)threadIdx.x, s, threadIdx.x * 4, threadIdx.y, threadIdx.z);
}
__global__ void outside(cudaSurfaceObject_t s) { surf1Dwrite(1, s, 4000); }
"""


@pytest.fixture(scope="module")
def texture_kernels():
    return cuda.module(SOURCE)


def run_and_read(kernel, texture, *coordinates, dtype=np.float32, count=None):
    n = len(coordinates[0]) if coordinates else count
    out = np.zeros(n, dtype)
    kernel[1, n](texture, *(np.asarray(c, np.float32) for c in coordinates), out)
    return out


def test_texture_address_modes_apply_beyond_the_edges(texture_kernels):
    a = np.array([1, 2, 3, 4], np.float32)
    x = np.array([-1.5, -0.5, 0.5, 3.5, 4.5, 9.5], np.float32)
    expected = {"clamp": [1, 1, 1, 4, 4, 4], "border": [7, 7, 1, 4, 7, 7]}
    for address, values in expected.items():
        t = cuda.texture(a, address, border=7)
        assert run_and_read(texture_kernels.one, t, x).tolist() == values
        t = cuda.texture(a, (address,), border=(7,), normalized=True)
        assert run_and_read(texture_kernels.one, t, x / 4).tolist() == values
    for address, values in {"wrap": [3, 4, 1, 4, 1, 2], "mirror": [2, 1, 1, 4, 4, 2]}.items():
        t = cuda.texture(a, address, normalized=True)
        assert run_and_read(texture_kernels.one, t, x / 4).tolist() == values


def test_texture_filter_weights_have_eight_bits(texture_kernels):
    a = np.array([0, 256, 0], np.float32)
    x = 0.5 + np.arange(0, 257) / 256
    t = cuda.texture(a, filter="linear")
    assert run_and_read(texture_kernels.one, t, x).tolist() == list(range(257))
    between = run_and_read(texture_kernels.one, t, x[:-1] + 1 / 1024)
    assert np.all(between == np.round(between))
    square = cuda.texture(np.array([[0, 256], [512, 1024]], np.float32), filter="linear")
    assert run_and_read(texture_kernels.two, square, [1, 0.5, 1.5], [1, 1, 1]).tolist() == [
        448,
        256,
        640,
    ]
    box = cuda.texture(np.arange(8, dtype=np.float32).reshape(2, 2, 2), filter="linear")
    assert run_and_read(texture_kernels.three, box, [1, 0.5], [1, 1.5], [1, 0.5]).tolist() == [
        3.5,
        2,
    ]


def test_filtered_texture_sums_match_a_gpu(texture_kernels):
    """Results of an H100, whose last bits differ from a sum that is rounded once."""
    for first, second, weight, result in (
        ("0x1.7f2a040000000p+0", "-0x1.de85960000000p-5", 215, "0x1.86754a0000000p-3"),
        ("0x1.155ac60000000p+0", "-0x1.edc74e0000000p-5", 234, "0x1.3761760000000p-5"),
        ("0x1.c473000000000p+0", "-0x1.b65ef40000000p-6", 244, "0x1.d5c3420000000p-5"),
        ("-0x1.87dc020000000p-7", "-0x1.4b151c0000000p-1", 3, "-0x1.3dca200000000p-6"),
    ):
        texels = np.array([float.fromhex(first), float.fromhex(second)], np.float32)
        t = cuda.texture(texels, filter="linear")
        assert run_and_read(texture_kernels.one, t, [0.5 + weight / 256]).tolist() == [
            float.fromhex(result)
        ]


def test_texels_of_every_type_are_fetched(texture_kernels):
    x = np.arange(4) + 0.5
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32):
        a = np.array([0, 1, 100, np.iinfo(dtype).max], dtype)
        assert (
            run_and_read(texture_kernels.ints, cuda.texture(a), x, dtype=np.int32)
            .astype(dtype)
            .tolist()
            == a.tolist()
        )
    a = np.array([0, 0.5, -2, 65504], np.float16)
    assert run_and_read(texture_kernels.one, cuda.texture(a), x).tolist() == a.tolist()
    bytes_ = np.array([-128, -127, 0, 127], np.int8)
    assert run_and_read(
        texture_kernels.one, cuda.texture(bytes_, read="normalized"), x
    ).tolist() == [
        -1,
        -1,
        0,
        1,
    ]
    a = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    t = cuda.texture(a, channels=4, read="normalized")
    out = np.zeros((3, 4), np.float32)
    texture_kernels.four[1, 3](
        t, np.arange(3, dtype=np.float32) + 0.5, np.full(3, 1.5, np.float32), out
    )
    assert np.round(out * 255).tolist() == a[1].tolist()


def test_layered_cubemap_and_gather_fetches_match_expected(texture_kernels):
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    planes = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    out = np.zeros((5, 2), np.float32)
    layers = np.array([0, 1, 2, 3, -1], np.int32)
    both = cuda.texture(rows, layered=True), cuda.texture(planes, layered=True)
    texture_kernels.layers[1, 5](*both, layers, out)
    assert out.tolist() == [[0, 2], [2, 6], [4, 10], [4, 10], [4, 10]]
    faces = np.repeat(np.arange(6, dtype=np.float32), 4).reshape(6, 2, 2)
    cubemap = cuda.texture(faces, cubemap=True, normalized=True)
    directions = np.array([[2, -2, 0, 0, 1, 1], [1, 1, 3, -3, 0, 0], [0, 0, 1, 1, 4, -4]])
    assert run_and_read(texture_kernels.cube, cubemap, *directions).tolist() == [0, 1, 2, 3, 4, 5]
    out = np.zeros((1, 4), np.float32)
    texture_kernels.gather[1, 1](cuda.texture(planes[0], gather=True), out)
    assert out.tolist() == [[2, 3, 1, 0]]


def test_texture_fetches_write_to_a_given_address(texture_kernels):
    planes = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    textures = [
        cuda.texture(planes[0], gather=True),
        cuda.texture(planes),
        cuda.texture(planes, layered=True),
    ]
    out, there = np.zeros(9, np.float32), np.zeros(1, np.int32)
    texture_kernels.addressed[1, 1](*textures, out, there)
    assert (out.tolist(), there[0]) == ([1, 1, 3, 2, 5, 4, 6, 2, 3], 6)


def test_in_place_textures_share_the_arrays_memory(texture_kernels):
    d = cuda.to_device(np.arange(4, dtype=np.float32) + 1)
    t = cuda.texture(d, in_place=True)
    d[1] = 20
    assert run_and_read(texture_kernels.fetch, t, count=6).tolist() == [0, 1, 20, 3, 4, 0]
    wide = cuda.to_device(np.arange(512, dtype=np.float32).reshape(2, 256))
    t = cuda.texture(wide[:, :3], in_place=True)
    del wide
    gc.collect()
    assert run_and_read(texture_kernels.two, t, [0.5, 2.5, 3.5], [1.5, 1.5, 1.5]).tolist() == [
        256,
        258,
        258,
    ]


def test_surface_reads_and_writes_pixels(texture_kernels):
    a = np.arange(24, dtype=np.uint8).reshape(3, 4, 2)
    source, target = cuda.surface(a, channels=2), cuda.surface(np.zeros_like(a), channels=2)
    texture_kernels.shift[1, (4, 3)](source, target)
    expected = np.zeros_like(a)
    expected[:, 1:] = a[:, :-1, ::-1]
    assert np.array_equal(target.copy_to_host(), expected)
    target.copy_from(a)
    assert np.array_equal(target.copy_to_host(), a)
    assert (target.shape, target.dtype) == (a.shape, a.dtype)
    line = cuda.surface(np.arange(5, dtype=np.int32) + 1)
    assert run_and_read(texture_kernels.edges, line, count=3, dtype=np.int32).tolist() == [1, 5, 0]
    box = cuda.surface(np.zeros((2, 3, 4), np.float32))
    texture_kernels.deep[1, (4, 3, 2)](box)
    assert np.array_equal(
        box.copy_to_host(), np.broadcast_to(np.arange(4, dtype=np.float32), (2, 3, 4))
    )
    t = cuda.texture(box)
    assert run_and_read(texture_kernels.three, t, [1.5, 9], [0.5, 0.5], [0.5, 0.5]).tolist() == [
        1,
        3,
    ]
    del box  # the texture keeps the memory
    gc.collect()
    assert run_and_read(texture_kernels.three, t, [2.5], [0.5], [0.5]).tolist() == [2]


@pytest.mark.parametrize(
    ("what", "keywords", "message"),
    [
        (np.zeros(4), {}, "not float64"),
        (np.zeros((2, 2, 2, 2), np.float32), {}, "1 or 2 or 3 non-empty dimensions"),
        (np.zeros((0, 2), np.float32), {}, "non-empty dimensions"),
        (np.zeros(4, np.float32), {"channels": 3}, "1, 2 or 4 channels"),
        (np.zeros((4, 3), np.float32), {"channels": 4}, "last axis has 4"),
        (np.zeros(4, np.float32), {"address": "repeat"}, "'repeat'"),
        (np.zeros(4, np.float32), {"address": "wrap"}, "requires normalized=True"),
        (np.zeros(4, np.float32), {"filter": "cubic"}, "'cubic'"),
        (np.zeros(4, np.int16), {"filter": "linear"}, "read='normalized'"),
        (np.zeros(4, np.int32), {"read": "normalized"}, "1 and 2 bytes"),
        (np.zeros((5, 4, 4), np.float32), {"cubemap": True}, r"\(6, n, n\)"),
        (np.zeros(4, np.float32), {"in_place": True}, "device arrays"),
        (np.zeros(4, np.float32), {"border": [0] * 5}, "up to 4 values"),
    ],
)
def test_invalid_textures_raise(what, keywords, message):
    with pytest.raises((TypeError, ValueError), match=message):
        cuda.texture(what, **keywords)


def test_texture_objects_are_destroyed():
    t, s = cuda.texture(np.zeros(4, np.float32)), cuda.surface(np.zeros(4, np.float32))
    assert isinstance(t, int) and "texture object" in repr(t) and "surface object" in repr(s)
    for one in (t, s):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(one)
    with pytest.raises(ValueError, match="shape"):
        s.copy_from(np.zeros(5, np.float32))
    with pytest.raises(TypeError, match="of a surface"):
        cuda.texture(s, channels=2)


@pytest.mark.skipif(not cuda.is_simulated(), reason="a GPU would lose its context")
def test_simulator_reports_invalid_texture_objects(texture_kernels):
    out = np.zeros(1, np.float32)
    t = cuda.texture(np.ones(4, np.float32))
    stale = int(t)
    del t
    gc.collect()
    for number, message in ((stale, "was destroyed"), (12345, "is invalid")):
        with pytest.raises(KernelError, match=message):
            texture_kernels.fetch[1, 1](number, out)
            cuda.synchronize()
    surface = cuda.surface(np.zeros(4, np.int32))
    for kernel, arguments, message in (
        (texture_kernels.outside, (surface,), "outside of the surface"),
        (
            texture_kernels.edges,
            (cuda.surface(np.zeros((2, 2), np.int32)), out.view(np.int32)),
            "shape differs",
        ),
        (texture_kernels.fetch, (cuda.texture(np.ones(4, np.float32)), out), "linear memory"),
        (texture_kernels.one, (surface, out, out), "no such texture"),
    ):
        with pytest.raises(KernelError, match=message):
            kernel[1, 1](*arguments)
            cuda.synchronize()
