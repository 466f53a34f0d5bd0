/* Compares a pair of elements for numpy.array_equal. */
template <typename A, typename B> bool same(A a, B b) {
    return np_equal(a, b) || (${equal_nan} && np_isnan(a) && np_isnan(b));
}
