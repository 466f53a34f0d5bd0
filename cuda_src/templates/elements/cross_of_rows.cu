/* Returns the cross product of two vectors whose elements are contiguous, as in cross.cu. */
template <typename T>
void cross_of_rows(array<const T, 1> a, array<const T, 1> b, array<T, 1> c) {
    c[0] = T(np_rounded_product(a[1], b[2]) - np_rounded_product(a[2], b[1]));
    c[1] = T(np_rounded_product(a[2], b[0]) - np_rounded_product(a[0], b[2]));
    c[2] = T(np_rounded_product(a[0], b[1]) - np_rounded_product(a[1], b[0]));
}
