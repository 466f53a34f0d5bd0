/* What numpy.array_equal asks of each pair. */
template <typename A, typename B> bool same(A a, B b) {
    return np_equal(a, b) || (${equal_nan} && np_isnan(a) && np_isnan(b));
}
