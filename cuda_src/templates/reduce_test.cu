/* The predicate that selects elements. */
struct nl_function {
    NUMBALITE_FUNCTION bool operator()(${T} a) const {
        return numbalite::nl_convert<bool>(${call});
    }
};
