/* i where x is the extreme, or NaN as it is; else more than any place. */
template <typename T> int64 place_of(T x, T extreme, int64 i) {
    return x == extreme || (x != x && extreme != extreme) ? i : INT64_MAX;
}
