"""Defines pairs with pixels, vectors and other structs, bit-fields, and memory that one call
clears."""

import numpy as np
from pairs.form import (
    random_floats,
    random_ints,
    register_pair,
    uninitialized_array,
    zero_counts,
    zeros_of_shape,
)

N = 64
BINS = 16
PIXELS = random_ints(N, 3, below=256, dtype=np.uint8)
GREYS = (PIXELS.astype(np.int32) @ [77, 151, 28] >> 8).astype(np.uint8)

# --- structs that are declared together with a shared variable
# --------------------------------------------------


@register_pair(
    "race", array="temp", grid=2, block=N, expect=lambda x: x.reshape(2, N)[:, ::-1].ravel()
)
def union_reused_without_barrier(x: random_ints(2 * N, below=99), out: zero_counts(2 * N)):
    """
    __shared__ union { int numbers[N]; float halves[N]; } temp;
    int t = threadIdx.x, i = grid<1>();
    temp.numbers[t] = x[i];                           //!
    __syncthreads();
    int other = temp.numbers[N - 1 - t];              //!
    __syncthreads();                                  //+
    temp.halves[t] = 0.5f * other;                    //!
    __syncthreads();
    out[i] = int(2 * temp.halves[t]);                 //!
    """


@register_pair(
    "unwritten", array="state", grid=2, block=N, expect=lambda x: [x[:N].sum(), x[N:].sum()]
)
def struct_total_without_initial_value(x: random_ints(2 * N, below=9), out: zero_counts(2)):
    """
    __shared__ struct State { int total; int numbers[N]; } state;
    int t = threadIdx.x;
    state.numbers[t] = x[grid<1>()];
    if (t == 0) state.total = 0;                      //+
    __syncthreads();
    atomicAdd(&state.total, state.numbers[t]);        //!
    __syncthreads();
    if (t == 0) out[blockIdx.x] = state.total;        //!
    """


@register_pair("memory", grid=1, block=N, expect=lambda x: np.roll(x, -1))
def index_past_array_of_unnamed_struct(x: random_ints(N, below=99), out: zero_counts(N)):
    """
    __shared__ struct { int flag; int numbers[N]; } parts[1];
    int t = threadIdx.x;
    parts[0].numbers[t] = x[t];
    __syncthreads();
    out[t] = parts[0].numbers[t + 1];                 //-!
    out[t] = parts[0].numbers[(t + 1) % N];           //+
    """


# --- pixels of three bytes -------------------------------------------------------------------------------


@register_pair("memory", array="rgb", grid=2, block=40, expect=lambda: GREYS)
def pixel_conversion_without_bounds_check(rgb: PIXELS, grey: zeros_of_shape(N, dtype=np.uint8)):
    """
    __global__ void to_grey(const unsigned char* rgb, unsigned char* grey) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= N) return;                           //+
        uchar3 c = reinterpret_cast<const uchar3*>(rgb)[i];  //!
        grey[i] = (c.x * 77 + c.y * 151 + c.z * 28) >> 8;  //!
    }
    """  # fmt: skip


@register_pair(
    "unwritten", array="rgb", grid=1, block=N, expect=lambda: np.repeat(GREYS, 3).reshape(N, 3)
)
def half_of_pixels_uninitialized(
    grey: GREYS,
    rgb: uninitialized_array(N, 3, dtype=np.uint8),
    out: zeros_of_shape(N, 3, dtype=np.uint8),
):
    """
    __global__ void to_colour(const unsigned char* grey, unsigned char* rgb, unsigned char* out) {
        int i = threadIdx.x;
        uchar3* pixels = reinterpret_cast<uchar3*>(rgb);
        if (i < N / 2)                                //-
            pixels[i] = make_uchar3(grey[i], grey[i], grey[i]);
        reinterpret_cast<uchar3*>(out)[i] = pixels[i];  //! where copies do not tell
        out[3 * i] = rgb[3 * i];                      //!
    }
    """


@register_pair("race", array="rgb", grid=1, block=N, expect=lambda: {"rgb": np.roll(PIXELS, -1, 0)})
def in_place_pixel_shift_without_barrier(rgb: PIXELS):
    """
    __global__ void shift(unsigned char* rgb) {
        int i = threadIdx.x;
        uchar3* pixels = reinterpret_cast<uchar3*>(rgb);
        uchar3 next = pixels[(i + 1) % N];            //!
        __syncthreads();                              //+
        pixels[i] = next;                             //!
    }
    """


@register_pair("memory", array="to", grid=1, block=N, expect=lambda v: {"to": v})
def short3_store_past_end(
    v: random_ints(N, 3, below=9, dtype=np.int16), to: uninitialized_array(N, 3, dtype=np.int16)
):
    """
    __global__ void copy(const short* v, short* to) {
        int i = threadIdx.x;
        short3 d = reinterpret_cast<const short3*>(v)[i];
        reinterpret_cast<short3*>(to)[i + 1] = make_short3(d.x, d.y, d.z);  //-!
        reinterpret_cast<short3*>(to)[i] = make_short3(d.x, d.y, d.z);  //+
    }
    """


# --- vectors and structs ---------------------------------------------------------------------------------


@register_pair("unwritten", array="force", grid=1, block=N, expect=lambda at: at)
def half_of_forces_uninitialized(
    at: random_floats(N, 4), force: uninitialized_array(N, 4), out: zeros_of_shape(N, 4)
):
    """
    __global__ void forces(const float* at, float* force, float* out) {
        int i = threadIdx.x;
        const float4* x = reinterpret_cast<const float4*>(at);
        float4* f = reinterpret_cast<float4*>(force);
        if (i < N / 2)                                //-
            f[i] = make_float4(0, 0, 0, 0);
        f[i].x += x[i].x;                             //!
        f[i].y += x[i].y;                             //!
        f[i].z += x[i].z;                             //!
        f[i].w += x[i].w;                             //!
        out[4 * i] = f[i].x;
        out[4 * i + 1] = f[i].y;
        out[4 * i + 2] = f[i].z;
        out[4 * i + 3] = f[i].w;
    }
    """


@register_pair("unwritten", array="m", grid=1, block=BINS, expect=lambda x: np.stack([x, 0 * x], 1))
def three_of_four_moments_uninitialized(
    x: random_floats(BINS), m: uninitialized_array(4 * BINS), out: zeros_of_shape(BINS, 2)
):
    """
    __global__ void moments(const float* x, float* m, float* out) {
        int i = threadIdx.x;
        float* mine = m + 4 * i;
        mine[0] = 0;
        mine[1] = 0;                                  //+
        mine[2] = 0;                                  //+
        mine[3] = 0;                                  //+
        mine[0] += x[i];
        out[2 * i] = mine[0];
        out[2 * i + 1] = mine[1];                     //!
    }
    """  # fmt: skip


@register_pair("unwritten", grid=1, block=N, expect=lambda x: [x.sum(), x.max()])
def struct_field_uninitialized(x: random_ints(N, below=99), out: zero_counts(2)):
    """
    struct Summary { int sum, largest; float unused[10]; };
    __global__ void summarise(const int* x, int* out) {
        __shared__ Summary s;
        if (threadIdx.x == 0) s.sum = 0;              //-
        if (threadIdx.x == 0) s = Summary{};          //+
        __syncthreads();
        atomicAdd(&s.sum, x[threadIdx.x]);
        atomicMax(&s.largest, x[threadIdx.x]);        //!
        __syncthreads();
        if (threadIdx.x == 0) {
            out[0] = s.sum;
            out[1] = s.largest;
        }
    }
    """


@register_pair("unwritten", array="cells", grid=1, block=N, expect=lambda x: x % 8 + 1)
def some_flags_uninitialized(
    x: random_ints(N, below=99), cells: uninitialized_array(N, dtype=np.int32), out: zero_counts(N)
):
    """
    struct Cell { unsigned kind : 3, seen : 5, count : 24; };
    __global__ void mark(const int* x, int* cells, int* out) {
        int i = threadIdx.x;
        Cell* c = reinterpret_cast<Cell*>(cells) + i;
        if (x[i] > 50) {                              //-
            c->kind = x[i];
            c->seen = 1;
        }                                             //-
        out[i] = c->kind + c->seen;                   //!
    }
    """


# --- cleared in one piece --------------------------------------------------------------------------------


@register_pair(
    "unwritten", array="bins", grid=1, block=N, expect=lambda x: np.bincount(x, minlength=BINS)
)
def memset_size_in_elements_instead_of_bytes(x: random_ints(N, below=BINS), out: zero_counts(BINS)):
    """
    __shared__ int bins[BINS];
    int t = threadIdx.x;
    if (t == 0) memset(bins, 0, BINS);                //-
    if (t == 0) memset(bins, 0, sizeof bins);         //+
    __syncthreads();
    atomicAdd(&bins[x[t]], 1);                        //!
    __syncthreads();
    if (t < BINS) out[t] = bins[t];                   //!
    """


@register_pair("memory", array="tile", grid=1, block=N, expect=lambda x: x)
def memset_size_of_larger_type(x: random_floats(N), out: zeros_of_shape(N)):
    """
    __shared__ float tile[N];
    int t = threadIdx.x;
    if (t == 0) memset(tile, 0, N * sizeof(double));  //-!
    if (t == 0) memset(tile, 0, N * sizeof(float));   //+
    __syncthreads();
    tile[t] += x[t];
    out[t] = tile[t];
    """


@register_pair(
    "race", array="bins", grid=1, block=N, expect=lambda x: np.bincount(x, minlength=BINS)
)
def memset_by_one_thread_without_barrier(x: random_ints(N, below=BINS), out: zero_counts(BINS)):
    """
    __shared__ int bins[BINS];
    int t = threadIdx.x;
    if (t == 0) memset(bins, 0, sizeof bins);         //!
    __syncthreads();                                  //+
    atomicAdd(&bins[x[t]], 1);                        //!
    __syncthreads();
    if (t < BINS) out[t] = bins[t];
    """  # fmt: skip


# --- written by functions --------------------------------------------------------------------------------


@register_pair(
    "unwritten", array="whole", grid=1, block=N, expect=lambda x: np.modf(x)[0] + np.modf(x)[1]
)
def integer_parts_of_negative_numbers_uninitialized(
    x: random_floats(N, low=-9, high=9), whole: uninitialized_array(N), out: zeros_of_shape(N)
):
    """
    int i = threadIdx.x;
    float part = 0;
    if (x[i] > 0)                                     //-
        part = modff(x[i], &whole[i]);
    out[i] = whole[i] + part;                         //!
    """


@register_pair(
    "memory",
    array="e",
    grid=1,
    block=N,
    right={"e": zero_counts(N)},
    expect=lambda x: np.ldexp(*np.frexp(x)),
)
def half_of_exponents_uninitialized(
    x: random_floats(N), e: zero_counts(N // 2), out: zeros_of_shape(N)
):
    """
    __global__ void split(const float* x, int* e, float* out) {
        int i = threadIdx.x;
        float m = frexp(x[i], &e[i]);                 //!
        out[i] = ldexp(m, e[i]);
    }
    """


@register_pair("unwritten", array="head", grid=1, block=N, expect=lambda: {"head": np.arange(N)})
def half_of_list_heads_uninitialized(head: uninitialized_array(N, dtype=np.int32)):
    """
    int i = threadIdx.x;
    if (i % 2)                                        //-
        atomicExch(&head[i], -1);
    __syncthreads();
    if (atomicExch(&head[i], i) >= N) __trap();       //!
    """
