/* The function that combines an element with its operand, if any, in ufunc.at. */
struct nl_function {
    NUMBALITE_FUNCTION ${T} operator()(const ${T} &a, const ${S} *operand) const {
        ${operand}return numbalite::nl_convert<${T}>(${call});
    }
};
