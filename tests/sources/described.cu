/* described: kernels and variables of every kind of type; test_headers.py has the expected output
 * of describe.py. */
struct S {
    float a;
    double b;
};
union U {
    int i;
    float f;
};
enum E : short { e1 };
enum class E2 { a };
struct fwd;
template <class T, int N> struct tpl { T v[N]; };
namespace ns {
struct inner {
    char c[3];
};
extern "C" __global__ void in_ns(inner a, tpl<inner, 4> *p, tpl<const inner *, 2> q) {}
} // namespace ns
extern "C" __global__ void k1(float a, double b, bool c, char d, signed char e, unsigned char f,
                              short g, unsigned short h, int i, unsigned j, long k, unsigned long l,
                              long long m, unsigned long long n) {}
__global__ void k2(float *a, const float *b, float *__restrict__ c, const float *__restrict__ d,
                   volatile int *e, void *f, const void *g, float **h, const float *const *hh,
                   fwd *i, const S *j, float4 *k) {}
extern "C" __global__ void k3(S a, U b, E c, E2 d, float4 e, const int f, const E2 *g) {}
__global__ void k4(array<float> a, array<const double, 2> b, array<int, 3, layout::C> c,
                   array<const uint8, 2, layout::F> d, array<S> e,
                   array<const bool, 1, layout::C> f) {}
__global__ void k5() {}
__global__ void k6(float (*a)[16], const float (*b)[3][4], void (*f)(int, const char *),
                   int (*const g)(), void (*h)(float *, S), int S::*m) {}
template <class T> struct complex_like { T x, y; };
__global__ void k7(complex_like<float> a, complex_like<double> *b, tpl<unsigned long long, 5> c,
                   int64 d, uint64 e, int8_t f) {}
struct __half {
    unsigned short x;
};
__global__ void k8(__half a, const __half *b, array<const __half, 2> c, complex64 d, complex128 *e,
                   array<const complex<float>> f) {}
template <class T, int N> __global__ void tk(T a, tpl<T, N> b, array<T, N> c) {}
__device__ float v1;
__constant__ float v2[10];
__device__ const int v3[2][3] = {};
__device__ S v4[5];
__constant__ float4 v5;
__device__ __half v6[7];
__device__ complex64 v7[2][2];
__global__ void
many(const float *, array<float, 2>, const float *, array<float, 2>, const float *, array<float, 2>,
     const float *, array<float, 2>, const float *, array<float, 2>, const float *, array<float, 2>,
     const float *, array<float, 2>, const float *, array<float, 2>, const float *, array<float, 2>,
     const float *, array<float, 2>, const float *, array<float, 2>, const float *, array<float, 2>,
     const float *, array<float, 2>, const float *, array<float, 2>, const float *, array<float, 2>,
     const float *, array<float, 2>, const float *, array<float, 2>, const float *, array<float, 2>,
     const float *, array<float, 2>, const float *, array<float, 2>) {}
