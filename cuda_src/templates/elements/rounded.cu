/* Rounds to the nearest multiple of 1 / scale, or, if `above` is set, of scale; ties are rounded to
 * even. */
template <typename T> T rounded(T x, T scale, bool above) {
    return above ? rint(x / scale) * scale : rint(x * scale) / scale;
}
