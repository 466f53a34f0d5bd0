/* Compares two elements as numpy.isclose does. */
template <typename T, typename U> bool close(T a, T b, U rtol, U atol, bool equal_nan) {
    bool within = np_absolute(a - b) <= atol + rtol * np_absolute(b);
    return (within && np_isfinite(b)) || a == b || (equal_nan && np_isnan(a) && np_isnan(b));
}
