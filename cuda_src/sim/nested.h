/* sim/nested: launches inside kernels (dynamic parallelism of CUDA 12 and later). translation.py
 * replaces k<<<grid, block, shared, stream>>>(x) by nl_nested<decltype(&k), &k>(..., {grid, block,
 * shared, stream})(x); for a template whose types are deduced from the arguments, by nl_nested_by
 * with a function that calls it. */
#ifndef NUMBALITE_SIM_NESTED_H
#define NUMBALITE_SIM_NESTED_H

namespace numbalite_sim {

struct nested_shape {
    dim3 grid, block;
    unsigned long long shared;
    cudaStream_t stream;
    NUMBALITE_SIM_UNCHECKED nested_shape(dim3 grid, dim3 block, unsigned long long shared = 0,
                                         cudaStream_t stream = nullptr)
        : grid(grid), block(block), shared(shared), stream(stream) {}
};

struct nested_call {
    const char *name;
    nested_shape shape;
    nl_sim_site site;
    NUMBALITE_SIM_UNCHECKED void launch(const nl_sim_kernel *kernel, void *const *args) const {
        const nl_sim_nested what = {kernel,
                                    name,
                                    {shape.grid.x, shape.grid.y, shape.grid.z},
                                    {shape.block.x, shape.block.y, shape.block.z},
                                    shape.shared,
                                    shape.stream == cudaStreamTailLaunch,
                                    args,
                                    site};
        ops->launch(&what, rank());
    }
};

template <class F, F kernel> struct nl_nested_kernel : nl_entry<F, kernel> {};
template <class... A, void (*kernel)(A...)> struct nl_nested_kernel<void (*)(A...), kernel> : nested_call {
    static constexpr nl_sim_kernel table = nl_entry<void (*)(A...), kernel>::nl_table("", 0);
    NUMBALITE_SIM_UNCHECKED nl_nested_kernel(const nested_call &call) : nested_call(call) {}
    NUMBALITE_SIM_UNCHECKED void operator()(A... values) const {
        void *const args[] = {const_cast<void *>(static_cast<const volatile void *>(&values))..., nullptr};
        launch(&table, args);
    }
};
template <class... A, void (*kernel)(A...)>
constexpr nl_sim_kernel nl_nested_kernel<void (*)(A...), kernel>::table;
#if __cplusplus >= 201703L
template <class... A, void (*kernel)(A...) noexcept>
struct nl_nested_kernel<void (*)(A...) noexcept, kernel> : nl_nested_kernel<void (*)(A...), kernel> {
    using nl_nested_kernel<void (*)(A...), kernel>::nl_nested_kernel;
};
#endif

/* The class that makes the launch, if the kernel is the function that `nl_call` calls with the
 * arguments; nl_call is an empty class. */
template <class C, class... A> struct nl_called {
    static void run(C nl_call, A... values) {
        nl_call(values...);
    }
};
template <class C> struct nl_nested_template : nested_call {
    C nl_call;
    NUMBALITE_SIM_UNCHECKED nl_nested_template(const nested_call &call, C called) : nested_call(call), nl_call(called) {}
    template <class... A> NUMBALITE_SIM_UNCHECKED void operator()(A... values) const {
        nl_nested_kernel<void (*)(C, A...), &nl_called<C, A...>::run> kernel(*this);
        kernel(nl_call, values...);
    }
};

template <class F, F kernel>
NUMBALITE_SIM_UNCHECKED nl_nested_kernel<F, kernel> nl_nested(const char *name, const nested_shape &shape,
                                                           const char *file = __builtin_FILE(),
                                                           int line = __builtin_LINE()) {
    return nested_call{name, shape, {file, line}};
}
template <class C>
NUMBALITE_SIM_UNCHECKED nl_nested_template<C> nl_nested_by(C nl_call, const char *name, const nested_shape &shape,
                                                      const char *file = __builtin_FILE(),
                                                      int line = __builtin_LINE()) {
    return {nested_call{name, shape, {file, line}}, nl_call};
}

} // namespace numbalite_sim

#endif
