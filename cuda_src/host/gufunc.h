/* host/gufunc: the inner loops of generalized ufuncs on the CPU: each loop calls the user's
 * function once for each loop index, with views of the operands' core dimensions.
 *
 * A generated source defines a class Call with `operands`, is_written(p) and apply(at, sizes,
 * strides): `at` contains each operand's address, `sizes` the sizes of the core dimensions, and
 * `strides` the strides of the operands' core dimensions, in NumPy's order. If a parameter's type
 * requires C or Fortran order and the operand has another order, the function receives a copy. */
#ifndef NUMBALITE_HOST_GUFUNC_H
#define NUMBALITE_HOST_GUFUNC_H

#include "host/ufunc.h"

namespace numbalite_host {

template <class T> struct without_const { typedef T type; };
template <class T> struct without_const<const T> { typedef T type; };

/* Passes a core of an operand as a parameter of the user's function. A is the parameter's type
 * array<T, N, L>; `written` is true for an output. */
template <class A, bool written> struct parameter;
template <class T, int N, numbalite::layout L, bool written>
struct parameter<numbalite::array<T, N, L>, written> {
    typedef typename without_const<T>::type element;
    numbalite::array<T, N, L> view;
    element *copy;
    char *original;
    size steps[N];

    NUMBALITE_SIM_INLINE parameter(char *at, const size (&shape)[N], const size (&strides)[N])
        : copy(0) {
        view.pointer = reinterpret_cast<T *>(at);
        for (int k = 0; k < N; ++k) {
            view.shape[k] = shape[k];
            view.strides[k] = strides[k];
        }
        if (L != numbalite::layout::any && !in_order())
            make_copy(at);
    }
    NUMBALITE_SIM_INLINE ~parameter() {
        if (L != numbalite::layout::any && copy) {
            if (written)
                move(true);
            free(copy);
        }
    }

    NUMBALITE_SIM_INLINE bool in_order() const {
        size expected = sizeof(T);
        for (int i = 0; i < N; ++i) {
            int k = L == numbalite::layout::F ? i : N - 1 - i;
            if (view.shape[k] != 1 && view.strides[k] != expected)
                return false;
            expected *= view.shape[k];
        }
        return true;
    }
    __attribute__((noinline)) void make_copy(char *at) {
        original = at;
        size total = view.size(), expected = sizeof(T);
        copy = static_cast<element *>(malloc((total ? total : 1) * sizeof(T)));
        if (!copy)
            numbalite_sim::fault(2, "not enough memory for a copy of an argument", "", 0);
        for (int i = 0; i < N; ++i) {
            int k = L == numbalite::layout::F ? i : N - 1 - i;
            steps[k] = view.strides[k];
            view.strides[k] = expected;
            expected *= view.shape[k];
        }
        view.pointer = copy;
        move(false);
    }
    /* Copies elements between the operand and its copy, in the memory order of the copy. */
    void move(bool back) {
        size at[N] = {}, total = view.size();
        for (size n = 0; n < total; ++n) {
            char *place = original;
            for (int k = 0; k < N; ++k)
                place += at[k] * steps[k];
            if (back)
                *reinterpret_cast<element *>(place) = copy[n];
            else
                copy[n] = *reinterpret_cast<element *>(place);
            for (int i = 0; i < N; ++i) {
                int k = L == numbalite::layout::F ? i : N - 1 - i;
                if (++at[k] < view.shape[k])
                    break;
                at[k] = 0;
            }
        }
    }
};

struct core {
    const size *sizes, *strides;
};

template <class Call> struct gufunc {
    enum { operands = Call::operands };
    static void any(char *const *data, size n, const size *strides, const void *extra) {
        const core *c = static_cast<const core *>(extra);
        char *at[operands];
        for (int p = 0; p < operands; ++p)
            at[p] = data[p];
        for (size k = 0; k < n; ++k) {
            Call::apply(at, c->sizes, c->strides);
            for (int p = 0; p < operands; ++p)
                at[p] += strides[p];
        }
    }
};

/* `dimensions` contains the loop's size, then the core dimensions; `strides` contains the strides
 * of the loop, then those of the core dimensions. */
template <class Call, bool parallel, bool guarded>
NUMBALITE_SIM_INLINE int run_gufunc(char *const *data, const size *dimensions,
                                    const size *strides) {
    typedef gufunc<Call> Loop;
    static unsigned cost;
    flags kept;
    core c = {dimensions + 1, strides + Loop::operands};
    size n = dimensions[0];
    bool shared = parallel && n > 1;
    for (int p = 0; p < Loop::operands; ++p)
        shared = shared && (strides[p] != 0 || !Call::is_written(p));
    if (shared)
        return numbalite_sim::ops->parallel(Loop::any, Loop::operands, data, n, strides, &c,
                                            &cost) < 0
                   ? numbalite_sim::ops->raise()
                   : 0;
    return run_serially<guarded>(Loop::any, data, n, strides, &c);
}

} // namespace numbalite_host

#endif
