/* Returns an element of the diagonal of an LU decomposition as a factor of the determinant; each
 * exchange of rows inverts the sign. */
template <typename T, typename P> T factor(T x, P pivot, P place) {
    return pivot == place ? x : T(0) - x;
}
