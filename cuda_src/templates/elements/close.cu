/* Compares two elements as numpy.isclose does. */
template <typename T, typename U> bool close(T a, T b, U rtol, U atol, bool equal_nan) {
    if (np_isnan(a) || np_isnan(b)) return equal_nan && np_isnan(a) && np_isnan(b);
    if (np_isinf(a) || np_isinf(b)) return a == b;
    return np_absolute(a - b) <= atol + rtol * np_absolute(b);
}
