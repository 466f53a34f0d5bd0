/* Implements the parts of Catch2 and c2h that CUB's tests of blocks, warps and threads use. */
#ifndef SUITE_C2H_CATCH2_TEST_HELPER
#define SUITE_C2H_CATCH2_TEST_HELPER
#include "../host.h"
#include <c2h/test_util_vec.h>
#include "vector.h"
#include "utility.h"
#include "device_policy.h"
#include <c2h/custom_type.h>
#include "generators.h"

#ifndef VAR_IDX
#define VAR_IDX 0
#endif

namespace c2h {
template <class... T> using type_list = ::cuda::std::__type_list<T...>;
template <class L> using size = ::cuda::std::__type_list_size<L>;
template <size_t i, class L> using get = ::cuda::std::__type_at_c<i, L>;
template <class... L> using cartesian_product = ::cuda::std::__type_cartesian_product<L...>;
template <class T, T... all> using enum_type_list = ::cuda::std::__type_value_list<T, all...>;
template <class A, class B> using pair = ::cuda::std::__type_pair<A, B>;
template <class P> using first = ::cuda::std::__type_pair_first<P>;
template <class P> using second = ::cuda::std::__type_pair_second<P>;
template <size_t start, size_t size, size_t stride = 1>
using iota = ::cuda::std::__type_iota<size_t, start, size, stride>;
template <class L, class T> using remove = ::cuda::std::__type_remove<L, T>;
} // namespace c2h

namespace suite {

/* Tests of the file, in a list that static constructors fill when the image is loaded. */
struct Test {
    const char *name, *types;
    void (*run)();
    Test *next;
};
static Test *first_test = nullptr;

template <class Body, class L> struct Instances;
template <class Body, class... T> struct Instances<Body, ::cuda::std::__type_list<T...>> {
    template <class One> static void add(const char *name) {
        static Test test = {};
        test.name = name;
        test.types = c2h::type_name<One>();
        test.run = &Body::template run<One>;
        test.next = first_test;
        first_test = &test;
    }
    static void all(const char *name) { (add<T>(name), ...); }
};

/* Implements GENERATE: a test runs once for each combination of the values of its generators. */
struct Choice {
    int generator;
    size_t at, count;
};
static Choice choices[32];
static size_t registered;
static int generator; /* the current generator: in a loop it returns the same value each time, as in
Catch2 */
inline size_t choose(size_t count) {
    for (size_t i = 0; i < registered; ++i)
        if (choices[i].generator == generator) return choices[i].at;
    choices[registered++] = {generator, 0, count};
    return 0;
}
inline bool another() {
    while (registered && ++choices[registered - 1].at == choices[registered - 1].count) --registered;
    return registered > 0;
}

template <class T> struct Several {
    T lowest, highest;
    size_t count;
    T pick() const {
        size_t at = choose(count);
        Random random(1000 * generator + at + 17);
        return draw(random, lowest, highest);
    }
};
template <class T> struct Values {
    const T *items;
    size_t count;
    T pick() const { return items[choose(count)]; }
};
template <class T> Several<T> random(T lowest, T highest) { return {lowest, highest, 1}; }
template <class A, class B, class T = ::cuda::std::common_type_t<A, B>> Several<T> random(A lowest, B highest) {
    return {T(lowest), T(highest), 1};
}
template <class T> Several<T> take(size_t count, Several<T> of) { return {of.lowest, of.highest, count}; }
template <class T> Values<T> take(size_t count, Values<T> of) { return {of.items, count}; }
template <class T> Values<T> values(std::initializer_list<T> list) {
    static T kept[64];
    size_t count = 0;
    for (const T &one : list) kept[count++] = one;
    return {kept, count};
}
template <class T> T pick(Several<T> one) { return one.pick(); }
template <class T> T pick(Values<T> one) { return one.pick(); }
template <class T, class... More> T pick(T one, More... more) {
    T all[] = {one, static_cast<T>(more)...};
    return all[choose(1 + sizeof...(More))];
}

/* The approximate equality of Catch2's vectors. */
template <class T> double as_double(const T &value) {
    if constexpr (::cuda::std::is_arithmetic_v<T>)
        return static_cast<double>(value);
    else
        return static_cast<double>(static_cast<float>(value));
}
template <class A, class B> bool approx(const A &a, const B &b) {
    size_t i = 0;
    for (; i < a.size() && i < b.size(); ++i) {
        double x = as_double(a[i]), y = as_double(b[i]);
        if (!(x == y || fabs(x - y) <= 1.1920928955078125e-05 * fabs(y))) break;
    }
    if (i == a.size() && i == b.size()) return true;
    note(i, a.size(), b.size());
    return false;
}
struct equal_or_nan {
    template <class A, class B> static bool of(const A &a, const B &b) {
        size_t i = 0;
        for (; i < a.size() && i < b.size(); ++i)
            if (!((::cuda::std::isnan(a[i]) && ::cuda::std::isnan(b[i])) || a[i] == b[i])) break;
        if (i == a.size() && i == b.size()) return true;
        note(i, a.size(), b.size());
        return false;
    }
};
} // namespace suite

namespace Catch { namespace Matchers {
template <class T> struct Within {
    T target, margin;
    bool match(T value) const {
        T most = fabs(value) < fabs(target) ? fabs(target) : fabs(value);
        return value == target || fabs(value - target) <= margin * most;
    }
};
template <class T> Within<T> WithinRel(T target, T margin) { return {target, margin}; }
}} // namespace Catch::Matchers

#define SUITE_CAT_(a, b) a##b
#define SUITE_CAT(a, b) SUITE_CAT_(a, b)
#define SUITE_TEST(id, name, list) \
    namespace { \
    struct SUITE_CAT(suite_test_, id) { template <class TestType> static void run(); }; \
    __attribute__((constructor, used)) void SUITE_CAT(suite_add_, id)() { \
        suite::Instances<SUITE_CAT(suite_test_, id), list>::all(name); \
    } \
    } \
    template <class TestType> void SUITE_CAT(suite_test_, id)::run()
#define SUITE_PRODUCT(id, name, ...) \
    using SUITE_CAT(suite_types_, id) = c2h::cartesian_product<__VA_ARGS__>; \
    SUITE_TEST(id, name, SUITE_CAT(suite_types_, id))
#define SUITE_LIST(id, name, ...) \
    using SUITE_CAT(suite_types_, id) = c2h::type_list<__VA_ARGS__>; \
    SUITE_TEST(id, name, SUITE_CAT(suite_types_, id))
#define SUITE_FIRST(one, ...) one
/* A test without lists of types has one instance. */
#define SUITE_PLAIN(id, name) SUITE_LIST(id, name, int)
#define SUITE_PICK(a, b, c, d, e, f, g, h, i, j, chosen, ...) chosen
#define C2H_TEST(name, tag, ...) \
    SUITE_CAT(SUITE_WITH_, SUITE_PICK(0, ##__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0))(__LINE__, name, __VA_ARGS__)
#define SUITE_WITH_0(id, name, ...) SUITE_LIST(id, name, int)
#define SUITE_WITH_1(id, name, ...) SUITE_PRODUCT(id, name, __VA_ARGS__)
#define C2H_TEST_LIST(name, tag, ...) SUITE_LIST(__LINE__, name, __VA_ARGS__)
#define TEST_CASE(name, ...) SUITE_LIST(__LINE__, name, int)

#define REQUIRE(...) \
    do { \
        suite::noted[0] = 0; \
        if (!(__VA_ARGS__)) suite::failed(__FILE__, __LINE__, #__VA_ARGS__, suite::noted); \
    } while (0)
#define CHECK(...) REQUIRE(__VA_ARGS__)
#define REQUIRE_FALSE(...) REQUIRE(!(__VA_ARGS__))
#define REQUIRE_THAT(value, matcher) REQUIRE((matcher).match(value))
#define REQUIRE_APPROX_EQ(reference, out) REQUIRE(suite::approx(reference, out))
#define REQUIRE_EQ_WITH_NAN_MATCHING(reference, out) REQUIRE(suite::equal_or_nan::of(reference, out))
#define REQUIRE_BITWISE_EQ(reference, out) REQUIRE(suite::equal_or_nan::of(reference, out))
#define FAIL(...) suite::failed(__FILE__, __LINE__, #__VA_ARGS__)
#define CAPTURE(...) (void)0
#define INFO(...) (void)0
#define GENERATE(...) SUITE_GENERATE(__COUNTER__, __VA_ARGS__)
#define GENERATE_COPY(...) SUITE_GENERATE(__COUNTER__, __VA_ARGS__)
#define SUITE_GENERATE(number, ...) \
    suite_generate([&] { \
        using namespace suite; \
        generator = number; \
        return pick(__VA_ARGS__); \
    })
template <class F> auto suite_generate(F f) { return f(); }
#define C2H_SEED(n) c2h::seed_t{GENERATE_COPY(take(n, random(0ull, ~0ull)))}

/* ---- what the program calls ---- */
extern "C" __attribute__((visibility("hidden"))) inline int nl_suite_entry(int what, int number, void *out) {
    suite::Test *test = suite::first_test;
    if (what == 0) {
        int count = 0;
        for (; test; test = test->next) ++count;
        return suite::program = *static_cast<suite::Program *>(out), count;
    }
    for (; number > 0; --number) test = test->next;
    if (what == 1)
        return static_cast<const char **>(out)[0] = test->name, static_cast<const char **>(out)[1] = test->types, 0;
    int runs = 0;
    suite::registered = 0;
    do {
        suite::launch_status = 0;
        test->run();
        ++runs;
    } while (suite::another());
    return runs;
}

#endif
