/* Computes one element in a loop of a ufunc on the CPU. */
struct nl_call_${loop} {
    static NUMBALITE_SIM_INLINE auto apply(${parameters}) { return ${call}; }
};
