/* To the nearest multiple of 1 / scale or, with `above`, of scale; halves to the even one. */
template <typename T> T rounded(T x, T scale, bool above) {
    return above ? rint(x / scale) * scale : rint(x * scale) / scale;
}
