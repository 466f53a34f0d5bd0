/* Returns the squared difference from a mean, or 0 for NaN and for elements that where= does not
 * select. */
${squares}
template <typename T> auto kept_square(T x, T mean, bool where) {
    return where && !np_isnan(x) ? square_of_distance(x, mean) : decltype(squared(x))(0);
}
