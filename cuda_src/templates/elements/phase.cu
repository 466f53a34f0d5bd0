/* Returns a number divided by its magnitude, or 0 for 0. */
template <typename T> T phase(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x; }
template <typename T> numbalite::complex<T> phase(numbalite::complex<T> x) {
    T size = hypot(x.real(), x.imag());
    return size == 0 ? x : numbalite::complex<T>(x.real() / size, x.imag() / size);
}
