/* Returns the cross product of two vectors. As in NumPy, products are rounded before they are
 * subtracted, so that the product of parallel vectors is zero. */
template <typename T> auto cross(T ax, T ay, T az, T bx, T by, T bz) {
    return make_tuple(T(np_rounded_product(ay, bz) - np_rounded_product(az, by)),
                      T(np_rounded_product(az, bx) - np_rounded_product(ax, bz)),
                      T(np_rounded_product(ax, by) - np_rounded_product(ay, bx)));
}
