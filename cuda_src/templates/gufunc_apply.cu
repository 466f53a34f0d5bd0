/* Calls a function that has its own parameter types: inputs are passed as arrays of const elements,
 * unless the function only accepts non-const elements. */
template <${types}> NUMBALITE_FUNCTION auto nl_apply(int, ${parameters})
    -> decltype(static_cast<void>(${const_call})) { ${const_call}; }
template <${types}> NUMBALITE_FUNCTION void nl_apply(long, ${parameters}) {
    ${call};
}
