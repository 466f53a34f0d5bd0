/* What says whether an element is chosen. */
struct nl_function {
    NUMBALITE_FUNCTION bool operator()(${T} a) const {
        return numbalite::nl_convert<bool>(${call});
    }
};
