/* Replaces NaN and infinities as numpy.nan_to_num does. */
template <typename T> T finite(T x, T nan, T most, T least) {
    return np_isnan(x) ? nan : np_isinf(x) ? (x > T(0) ? most : least) : x;
}
template <typename T> numbalite::complex<T> finite(numbalite::complex<T> x, T nan, T most, T least) {
    return numbalite::complex<T>(finite(x.real(), nan, most, least), finite(x.imag(), nan, most, least));
}
