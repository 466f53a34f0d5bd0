/* What handles a loop index of a generalized ufunc for the CPU. */
struct nl_call_${loop} {
    enum { operands = ${operands}, inputs = ${inputs} };
    static NUMBALITE_SIM_INLINE void apply(char *const *at, const long long *sizes, const long long *strides) {
${views}${call};
    }
};
