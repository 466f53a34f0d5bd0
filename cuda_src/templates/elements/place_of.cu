/* Returns i if x equals the extreme, or if both are NaN; otherwise a number larger than any
 * index. */
template <typename T> int64 place_of(T x, T extreme, int64 i) {
    return x == extreme || (x != x && extreme != extreme) ? i : INT64_MAX;
}
