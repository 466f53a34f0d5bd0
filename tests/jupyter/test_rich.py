"""Tests the display of objects in a notebook: the tables' contents, and that the display has no
side effects."""

import re

import numpy as np

from numbalite import compilers, cuda, guvectorize, vectorize


def html_as_text(html):
    """Returns the text of an HTML output without tags and entities; asserts that the tags are balanced."""
    from html import unescape
    from html.parser import HTMLParser

    opened = []

    class HTMLChecker(HTMLParser):
        def handle_starttag(self, tag, attributes):
            opened.append(tag)

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    checker = HTMLChecker()
    checker.feed(html)
    checker.close()
    assert not opened
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))


def html_repr_of(value):
    return html_as_text(value._repr_html_())


def new_kernel():
    @cuda.jit
    def scale(x, a):
        "if (x.size() < 1 && a > 0) return; __shared__ float s[64]; s[threadIdx.x] = a; x[0] *= s[threadIdx.x];"

    return scale


def test_html_of_a_kernel_compiles_nothing():
    kernel = new_kernel()
    before = compilers.compile_count()
    shown = html_repr_of(kernel)
    assert compilers.compile_count() == before
    assert shown.startswith(" scale(x, a) CUDA kernel not compiled yet")
    assert "x.size() < 1 && a > 0" in shown, "the source, escaped and unescaped"


def test_html_of_a_compiled_kernel_shows_types_and_registers():
    kernel = new_kernel()
    kernel[1, 1](np.ones(4, np.float32), 2.0)
    before = compilers.compile_count()
    shown = html_repr_of(kernel)
    assert compilers.compile_count() == before
    assert "x: float32[::1], a: float64" in shown
    registers = kernel.get_regs_per_thread().popitem()[1]
    shared = kernel.get_shared_mem_per_block().popitem()[1]
    assert f" {registers} {shared} B " in shown
    assert "threads per block 64 128 256 512 1024 blocks at once in a multiprocessor" in shown
    assert ("nominal" in shown) == cuda.is_simulated()
    overload = next(iter(kernel.overloads.values()))
    assert "void(float32[::1], float64)" in html_repr_of(overload)
    kernel[1, 1](np.ones(4), 2.0)
    assert "x: float64[::1], a: float64" in html_repr_of(kernel)


def test_html_works_after_a_lost_context(monkeypatch):
    from numbalite.errors import CudaAPIError
    from numbalite.kernels.kernel import Kernel

    def raise_device_lost(self, device=None):
        raise CudaAPIError(700, "gone")

    kernel = new_kernel()
    kernel[1, 1](np.ones(4, np.float32), 2.0)
    monkeypatch.setattr(Kernel, "load", raise_device_lost)
    assert "x: float32[::1], a: float64 — — — — —" in html_repr_of(kernel)


def test_html_of_a_source_kernel_shows_its_types():
    module = cuda.module(
        "__constant__ float c[4];\n__global__ void k(const float *x, int n) {}\n"
        "template <class T> __global__ void f(T *x) {}",
        name="<b>bold</b>",
    )
    assert "const float* x, int n" in html_repr_of(module.k)
    shown = html_repr_of(module)
    assert "<b>bold</b> CUDA module name what" in shown
    assert "k(x, n) kernel f<...>(x) kernel c __constant__ variable" in shown


def test_html_of_a_launcher_shows_occupancy(ipython_shell):
    kernel = new_kernel()
    launcher = kernel[(4, 2), 64]
    formatter = ipython_shell.display_formatter.formatters["text/html"]
    assert "scale[4 × 2, 64] kernel with its grid" in html_as_text(formatter(launcher))
    launcher(np.ones(4, np.float32), 2.0)
    shown = html_as_text(formatter(launcher))
    expected = kernel.occupancy(64).popitem()[1]
    share = expected * 64 / cuda.get_current_device().MAX_THREADS_PER_MULTIPROCESSOR
    assert f"x: float32[::1], a: float64 {expected} {share:.0%}" in shown
    assert "512" in shown


def test_html_of_ufuncs_shows_types_and_layout():
    @vectorize(["float32(float32, float32)"], target="cuda")
    def add(x, y):
        "return x + y;"

    assert "CUDA ufunc types ff->f" in html_repr_of(add)

    @guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda")
    def total(x, out):
        "out[0] = 0; for (int i = 0; i < x.size(); ++i) out[0] += x[i];"

    assert "CUDA gufunc signature types (n)->()" in html_repr_of(total)


def test_html_of_device_functions_shows_parameters():
    @cuda.jit(device=True)
    def is_less(a, b):
        "return a < b;"

    assert html_repr_of(is_less).startswith(" is_less(a, b) device function")


def test_arrays_show_their_first_elements():
    d = cuda.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))
    shown = html_repr_of(d)
    assert shown.endswith(" [[ 0. 1. 2. 3.] [ 4. 5. 6. 7.] [ 8. 9. 10. 11.]] ")
    large = cuda.to_device(np.arange(100_000))
    assert html_repr_of(large).endswith(" [ 0 1 2 ... 99997 99998 99999] ")
    name = cuda.get_current_device().name
    assert (
        f"shape dtype elements bytes order device address 3 × 4 float32 12 48 B C 0: {name} {d.address:#x}"
        in re.sub(r"\s+", " ", shown)
    )
    assert "strides (32, 4)" in html_repr_of(d[::2])
    assert "read-only" not in html_repr_of(d)
    record = np.dtype([("<i>", "f4")])
    assert "&lt;i&gt;" in cuda.device_array(2, record)._repr_html_()
    assert "&lt;b&gt;" in cuda.to_device(np.array(["<b>"]))._repr_html_()


def test_html_of_devices_streams_and_pools_shows_attributes(ipython_shell):
    device = cuda.get_current_device()
    assert device.name in html_repr_of(device) and "multiprocessors" in html_repr_of(device)
    assert html_repr_of(cuda.gpus[0]) == html_repr_of(device)
    stream = cuda.stream()
    assert "CUDA stream device handle priority non-blocking state" in html_repr_of(stream)
    assert "0x0" in html_repr_of(cuda.default_stream())
    with stream.capture() as graph:
        assert "being captured" in html_repr_of(stream) and "being captured" in html_repr_of(graph)
        cuda.device_array(4, np.float32)
    assert "kernel launches 0" in html_repr_of(graph)
    event = cuda.event()
    event.record()
    event.synchronize()
    shown = html_as_text(ipython_shell.display_formatter.formatters["text/html"](event))
    assert "happened" in shown and "yes" in shown
    assert "memory pool of device 0 used cached peak" in html_repr_of(cuda.memory_pool())
    assert "host memory pool" in html_repr_of(cuda.host_memory_pool())


def test_html_leaves_plain_repr_unchanged():
    assert repr(new_kernel()) == "<CUDA kernel scale(x, a)>"
