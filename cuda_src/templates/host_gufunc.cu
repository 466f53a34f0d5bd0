/* Computes one loop index of a generalized ufunc on the CPU. */
struct nl_call_${loop} {
    enum { operands = ${operands} };
    static constexpr bool is_written(int p) { return 0x${written}u >> p & 1; }
    static NUMBALITE_SIM_INLINE void apply(char *const *at, const long long *sizes, const long long *strides) {
${views}${call};
    }
};
