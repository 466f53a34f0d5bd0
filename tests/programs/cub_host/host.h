/* The host's half of a CUB test, for an image of the simulator, which has no C++ library: the
 * containers, algorithms and random numbers that the tests use, and a launch through the program
 * that loaded the image (cub_suite.py). */
#ifndef SUITE_HOST_H
#define SUITE_HOST_H

#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cuda/std/array>
#include <cuda/std/cmath>
#include <cuda/std/cstdint>
#include <cuda/std/cstring>
#include <cuda/std/functional>
#include <cuda/std/initializer_list>
#include <cuda/std/limits>
#include <cuda/std/numeric>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>


namespace suite {

/* Callbacks into Python: launch a kernel, record a failure, allocate and release memory. */
struct Program {
    int (*launch)(const unsigned *shape, unsigned shared, void (*body)(void *), void *arguments);
    void (*fail)(const char *file, int line, const char *text, const char *values);
    void *(*allocate)(size_t);
    void (*release)(void *);
};
static Program program = {};
static int launch_status = 0;

template <class F, class... A> struct Call {
    F kernel;
    ::cuda::std::tuple<A...> arguments;
    static void run(void *self) {
        Call *call = static_cast<Call *>(self);
        ::cuda::std::apply(call->kernel, call->arguments);
    }
};
struct Shape {
    unsigned shape[6];
    unsigned shared;
    Shape(dim3 grid, dim3 block, unsigned bytes = 0, const void * = nullptr)
        : shape{grid.x, grid.y, grid.z, block.x, block.y, block.z}, shared(bytes) {}
    template <class F, class... A> void operator()(F kernel, const A &...arguments) const {
        Call<F, A...> call{kernel, ::cuda::std::tuple<A...>(arguments...)};
        launch_status |= program.launch(shape, shared, &Call<F, A...>::run, &call);
    }
};

inline void failed(const char *file, int line, const char *text, const char *values = "") {
    program.fail(file, line, text, values);
}

/* Describes where two vectors differ, for the report. */
static char noted[200];
inline void note(size_t at, size_t size, size_t others) {
    char *out = noted;
    auto put = [&](const char *text) { while (*text) *out++ = *text++; };
    auto number = [&](size_t n) {
        char digits[24];
        int count = 0;
        do digits[count++] = '0' + n % 10; while (n /= 10);
        while (count) *out++ = digits[--count];
    };
    put("element "), number(at), put(" of "), number(size), put(" and "), number(others);
    *out = 0;
}

struct Random {
    unsigned long long state;
    explicit Random(unsigned long long seed) : state(seed * 0x9E3779B97F4A7C15ull + 1) {}
    unsigned long long next() { /* splitmix64 */
        unsigned long long z = (state += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }
    double unit() { return (next() >> 11) * 0x1p-53; }
};

template <class T, class = void> struct has_x : ::cuda::std::false_type {};
template <class T> struct has_x<T, ::cuda::std::void_t<decltype(T::x)>> : ::cuda::std::true_type {};
template <class T, class = void> struct has_y : ::cuda::std::false_type {};
template <class T> struct has_y<T, ::cuda::std::void_t<decltype(T::y)>> : ::cuda::std::true_type {};
template <class T, class = void> struct has_z : ::cuda::std::false_type {};
template <class T> struct has_z<T, ::cuda::std::void_t<decltype(T::z)>> : ::cuda::std::true_type {};
template <class T, class = void> struct has_w : ::cuda::std::false_type {};
template <class T> struct has_w<T, ::cuda::std::void_t<decltype(T::w)>> : ::cuda::std::true_type {};
template <class T, class = void> struct has_key : ::cuda::std::false_type {};
template <class T> struct has_key<T, ::cuda::std::void_t<decltype(T::key)>> : ::cuda::std::true_type {};

/* A number from lowest to highest. */
template <class T> T draw(Random &random, const T &lowest, const T &highest) {
    if constexpr (has_key<T>::value) {
        T out = lowest;
        out.key = draw(random, lowest.key, highest.key);
        out.val = draw(random, lowest.val, highest.val);
        return out;
    } else if constexpr (has_x<T>::value && !::cuda::std::is_arithmetic_v<T>) {
        T out = lowest;
        out.x = draw(random, lowest.x, highest.x);
        if constexpr (has_y<T>::value) out.y = draw(random, lowest.y, highest.y);
        if constexpr (has_z<T>::value) out.z = draw(random, lowest.z, highest.z);
        if constexpr (has_w<T>::value) out.w = draw(random, lowest.w, highest.w);
        return out;
    } else if constexpr (::cuda::std::is_same_v<T, bool>) {
        return random.next() & 1;
    } else if constexpr (::cuda::std::is_same_v<T, __int128> || ::cuda::std::is_same_v<T, unsigned __int128>) {
        return (static_cast<unsigned __int128>(random.next()) << 64) | random.next();
    } else if constexpr (::cuda::std::is_integral_v<T>) {
        unsigned long long span = static_cast<unsigned long long>(highest) - static_cast<unsigned long long>(lowest);
        unsigned long long drawn = span + 1 ? random.next() % (span + 1) : random.next();
        return static_cast<T>(static_cast<unsigned long long>(lowest) + drawn);
    } else {
        double part = random.unit();
        double value = static_cast<double>(static_cast<float>(lowest)) * (1 - part) +
                       static_cast<double>(static_cast<float>(highest)) * part;
        if constexpr (::cuda::std::is_same_v<T, double>)
            value = lowest * (1 - part) + highest * part;
        if constexpr (::cuda::std::is_same_v<T, double> || ::cuda::std::is_same_v<T, float>)
            return static_cast<T>(value);
        else
            return static_cast<T>(static_cast<float>(value));
    }
}

/* A vector whose memory kernels can access. `place` distinguishes host and device vectors. */
template <class T, int place> class Vector {
    T *items = nullptr;
    size_t count = 0, capacity = 0;
    static T *memory(size_t n) {
        return n ? static_cast<T *>(program.allocate(n * sizeof(T))) : nullptr;
    }
    void grow(size_t n) {
        if (n <= capacity) return;
        size_t more = n > 2 * capacity ? n : 2 * capacity;
        T *moved = memory(more);
        for (size_t i = 0; i < count; ++i) new (moved + i) T(items[i]);
        if (items) program.release(items);
        items = moved;
        capacity = more;
    }

  public:
    typedef T value_type;
    typedef T *iterator;
    typedef const T *const_iterator;
    typedef T &reference;
    typedef T *pointer;
    typedef size_t size_type;
    typedef ptrdiff_t difference_type;
    Vector() = default;
    explicit Vector(size_t n) { resize(n); }
    Vector(size_t n, const T &value) { resize(n, value); }
    Vector(const Vector &other) { assign(other.begin(), other.end()); }
    template <int elsewhere> Vector(const Vector<T, elsewhere> &other) { assign(other.begin(), other.end()); }
    template <class U, int elsewhere> Vector(const Vector<U, elsewhere> &other) { assign(other.begin(), other.end()); }
    Vector(::cuda::std::initializer_list<T> list) { assign(list.begin(), list.end()); }
    template <class I, class = decltype(*::cuda::std::declval<I>())> Vector(I first, I last) { assign(first, last); }
    ~Vector() { if (items) program.release(items); }
    Vector &operator=(const Vector &other) {
        if (this != &other) assign(other.begin(), other.end());
        return *this;
    }
    template <int elsewhere> Vector &operator=(const Vector<T, elsewhere> &other) {
        assign(other.begin(), other.end());
        return *this;
    }
    template <class I> void assign(I first, I last) {
        count = 0;
        for (; first != last; ++first) push_back(static_cast<T>(*first));
    }
    void resize(size_t n) {
        grow(n);
        for (; count < n; ++count) new (items + count) T();
        count = n;
    }
    void resize(size_t n, const T &value) {
        grow(n);
        for (; count < n; ++count) new (items + count) T(value);
        count = n;
    }
    void push_back(const T &value) {
        T kept = value;
        grow(count + 1);
        new (items + count++) T(kept);
    }
    template <class... A> void emplace_back(A &&...a) { push_back(T(static_cast<A &&>(a)...)); }
    void reserve(size_t n) { grow(n); }
    void clear() { count = 0; }
    void erase(T *at) {
        for (--count; at != end(); ++at) at[0] = at[1];
    }
    T *data() { return items; }
    const T *data() const { return items; }
    T *begin() { return items; }
    T *end() { return items + count; }
    const T *begin() const { return items; }
    const T *end() const { return items + count; }
    const T *cbegin() const { return items; }
    const T *cend() const { return items + count; }
    size_t size() const { return count; }
    bool empty() const { return count == 0; }
    T &operator[](size_t i) { return items[i]; }
    const T &operator[](size_t i) const { return items[i]; }
    T &front() { return items[0]; }
    const T &front() const { return items[0]; }
    T &back() { return items[count - 1]; }
    const T &back() const { return items[count - 1]; }
};
template <class T, class U, int p, int q> bool operator==(const Vector<T, p> &a, const Vector<U, q> &b) {
    size_t i = 0;
    while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
    if (i == a.size() && i == b.size()) return true;
    note(i, a.size(), b.size());
    return false;
}
template <class T, class U, int p, int q> bool operator!=(const Vector<T, p> &a, const Vector<U, q> &b) {
    return !(a == b);
}

template <class I, class F> void merge_sort(I first, I last, F less) {
    typedef typename ::cuda::std::iterator_traits<I>::value_type T; /* not of zip_iterator's references */
    ptrdiff_t n = last - first;
    if (n < 2) return;
    merge_sort(first, first + n / 2, less);
    merge_sort(first + n / 2, last, less);
    Vector<T, 2> merged;
    merged.reserve(n);
    ptrdiff_t i = 0, j = n / 2;
    while (i < n / 2 || j < n)
        if (i < n / 2 && (j >= n || !less(T(first[j]), T(first[i]))))
            merged.push_back(T(first[i++]));
        else
            merged.push_back(T(first[j++]));
    for (ptrdiff_t k = 0; k < n; ++k) first[k] = merged[k];
}

} // namespace suite

/* ---- the C++ library ---- */
namespace std {
struct ostream {
    template <class T> ostream &operator<<(const T &) { return *this; }
};
struct string {
    const char *text;
    string(const char *text = "") : text(text) {}
    const char *c_str() const { return text; }
};
template <class T> using vector = ::suite::Vector<T, 2>;
using ::cuda::std::array;
using ::cuda::std::pair, ::cuda::std::make_pair, ::cuda::std::tuple, ::cuda::std::make_tuple, ::cuda::std::get, ::cuda::std::tie;
using ::cuda::std::numeric_limits;
using ::cuda::std::enable_if_t, ::cuda::std::false_type, ::cuda::std::true_type, ::cuda::std::bool_constant;
using ::cuda::std::integral_constant, ::cuda::std::is_floating_point_v, ::cuda::std::is_same, ::cuda::std::is_same_v;
using ::cuda::std::decay_t, ::cuda::std::conditional_t, ::cuda::std::common_type, ::cuda::std::common_type_t;
using ::cuda::std::is_integral, ::cuda::std::is_signed, ::cuda::std::is_trivially_copyable, ::cuda::std::make_unsigned_t;
using ::cuda::std::plus, ::cuda::std::multiplies, ::cuda::std::bit_and, ::cuda::std::bit_or, ::cuda::std::bit_xor;
using ::cuda::std::equal_to, ::cuda::std::less, ::cuda::std::greater, ::cuda::std::minus;
using ::cuda::std::accumulate, ::cuda::std::iota, ::cuda::std::inclusive_scan;
using ::cuda::std::move, ::cuda::std::forward, ::cuda::std::declval, ::cuda::std::swap;
template <class T> constexpr const T &min(const T &a, const T &b) { return b < a ? b : a; }
template <class T> constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }
template <class T, class F> constexpr const T &min(const T &a, const T &b, F f) { return f(b, a) ? b : a; }
template <class T, class F> constexpr const T &max(const T &a, const T &b, F f) { return f(a, b) ? b : a; }
template <class I, class T> void fill(I first, I last, const T &value) {
    for (; first != last; ++first) *first = value;
}
template <class I, class O> O copy(I first, I last, O out) {
    for (; first != last; ++first, ++out) *out = *first;
    return out;
}
template <class I, class F> void stable_sort(I first, I last, F less) { ::suite::merge_sort(first, last, less); }
template <class I> void stable_sort(I first, I last) {
    ::suite::merge_sort(first, last, [](const auto &a, const auto &b) { return a < b; });
}
template <class I, class F> void sort(I first, I last, F less) { ::suite::merge_sort(first, last, less); }
template <class I> void sort(I first, I last) { stable_sort(first, last); }
template <class I> void reverse(I first, I last) {
    for (; first != last && first != --last; ++first) {
        auto kept = *first;
        *first = *last;
        *last = kept;
    }
}
template <class I> void rotate(I first, I middle, I last) {
    reverse(first, middle);
    reverse(middle, last);
    reverse(first, last);
}
template <class I, class J> bool equal(I first, I last, J other) {
    for (; first != last; ++first, ++other)
        if (!(*first == *other)) return false;
    return true;
}
} // namespace std

/* ---- Containers and algorithms of thrust, on the host. ---- */
namespace thrust {
template <class T> using device_vector = ::suite::Vector<T, 1>;
template <class T> using host_vector = ::suite::Vector<T, 0>;
struct suite_policy {};
constexpr suite_policy device_of_suite{};
template <class I, class O> O copy(I first, I last, O out) { return std::copy(first, last, out); }
template <class P, class I, class O, class = ::cuda::std::enable_if_t<::cuda::std::is_same_v<P, suite_policy>>>
O copy(P, I first, I last, O out) { return std::copy(first, last, out); }
template <class I, class N, class O> O copy_n(I first, N n, O out) { return std::copy(first, first + n, out); }
template <class I, class T> void fill(I first, I last, const T &value) { std::fill(first, last, value); }
template <class I, class T> void fill(suite_policy, I first, I last, const T &value) { std::fill(first, last, value); }
template <class I, class J> bool equal(suite_policy, I first, I last, J other) { return std::equal(first, last, other); }
template <class I> void sequence(I first, I last) {
    typedef ::cuda::std::remove_reference_t<decltype(*first)> T;
    for (int i = 0; first != last; ++first, ++i) *first = static_cast<T>(i);
}
template <class I, class T> void sequence(I first, I last, T begin) {
    for (; first != last; ++first, begin = begin + T(1)) *first = begin;
}
template <class P, class I, class T> void sequence(P, I first, I last, T begin) { sequence(first, last, begin); }
template <class I> void reverse(I first, I last) { std::reverse(first, last); }
template <class... A> void exclusive_scan(A &&...);
template <class M, class I, class O> O gather(M first, M last, I in, O out) {
    for (; first != last; ++first, ++out) *out = in[*first];
    return out;
}
template <class K, class V, class F> void sort_by_key(K first, K last, V values, F less) {
    typedef ::cuda::std::remove_reference_t<decltype(*first)> Key;
    typedef ::cuda::std::remove_reference_t<decltype(*values)> Value;
    std::vector<::cuda::std::pair<Key, Value>> both;
    for (ptrdiff_t i = 0; i < last - first; ++i) both.push_back({first[i], values[i]});
    std::stable_sort(both.begin(), both.end(), [=](const auto &a, const auto &b) mutable { return less(a.first, b.first); });
    for (ptrdiff_t i = 0; i < last - first; ++i) first[i] = both[i].first, values[i] = both[i].second;
}
struct default_random_engine : ::suite::Random {
    explicit default_random_engine(unsigned long long seed = 1) : Random(seed) {}
};
template <class I> void shuffle(I first, I last, default_random_engine &random) {
    for (ptrdiff_t n = last - first; n > 1; --n) {
        ptrdiff_t other = random.next() % n;
        auto kept = first[n - 1];
        first[n - 1] = first[other];
        first[other] = kept;
    }
}
} // namespace thrust

/* ---- the runtime ---- */
inline cudaError_t cudaPeekAtLastError() { return static_cast<cudaError_t>(suite::launch_status); }
inline cudaError_t cudaGetLastError() { return static_cast<cudaError_t>(suite::launch_status); }
inline cudaError_t cudaDeviceSynchronize() { return static_cast<cudaError_t>(suite::launch_status); }
inline cudaError_t cudaMalloc(void **out, size_t size) { /* not a template, because the compiler
would prefer a template overload of the kernels */
    return *out = suite::program.allocate(size), cudaSuccess;
}
template <class T> cudaError_t cudaMalloc(T **out, size_t size) {
    return *out = static_cast<T *>(suite::program.allocate(size)), cudaSuccess;
}
template <class T> cudaError_t cudaMallocHost(T **out, size_t size) { return cudaMalloc(out, size); }
inline cudaError_t cudaFree(void *p) { return suite::program.release(p), cudaSuccess; }
inline cudaError_t cudaFreeHost(void *p) { return suite::program.release(p), cudaSuccess; }
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t size, int) { return memcpy(to, from, size), cudaSuccess; }
inline cudaError_t cudaMemsetAsync(void *to, int value, size_t size) { return memset(to, value, size), cudaSuccess; }
#define CubDebugExit(call) REQUIRE(cudaSuccess == (call))

#endif
