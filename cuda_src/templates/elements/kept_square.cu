/* The square of the distance from a mean; 0 for NaNs and what is not asked for by where=. */
${squares}
template <typename T> auto kept_square(T x, T mean, bool where) {
    return where && !np_isnan(x) ? square_of_distance(x, mean) : decltype(squared(x))(0);
}
