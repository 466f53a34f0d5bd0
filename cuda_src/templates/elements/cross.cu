/* The cross product of two vectors. As in NumPy, products are rounded before they are subtracted, so
 * that the product of parallel vectors is zero. */
inline float rounded_times(float x, float y) { return __fmul_rn(x, y); }
inline double rounded_times(double x, double y) { return __dmul_rn(x, y); }
template <typename T> T rounded_times(T x, T y) { return x * y; }
template <typename T> auto cross(T ax, T ay, T az, T bx, T by, T bz) {
    return make_tuple(T(rounded_times(ay, bz) - rounded_times(az, by)),
                      T(rounded_times(az, bx) - rounded_times(ax, bz)),
                      T(rounded_times(ax, by) - rounded_times(ay, bx)));
}
