/* The call of a function that has its types itself: inputs are arrays of const elements, unless it takes
 * only others. */
template <${types}> NUMBALITE_FUNCTION auto nl_apply(int, ${parameters})
    -> decltype(static_cast<void>(${const_call})) { ${const_call}; }
template <${types}> NUMBALITE_FUNCTION void nl_apply(long, ${parameters}) {
    ${call};
}
