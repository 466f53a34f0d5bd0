/* magnitude returns |x|, squared its square, and square_of_distance |x - y|^2. */
template <typename T> auto magnitude(T x) { return abs(x); }
template <typename T> T squared(T x) { return x * x; }
template <typename T> T squared(numbalite::complex<T> x) {
    return x.real() * x.real() + x.imag() * x.imag();
}
template <typename T> auto square_of_distance(T x, T y) { return squared(x - y); }
