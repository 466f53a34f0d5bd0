/* The function that combines two elements in a reduction or a scan. */
struct nl_function : numbalite::nl_reduce::operation_on<nl_function, ${T}> {
    static constexpr bool commutes = ${commutes};
    NUMBALITE_FUNCTION ${T} operator()(${T} a, ${T} b) const {
        return numbalite::nl_convert<${T}>(${call});
    }
};
