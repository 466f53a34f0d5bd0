/* Returns the element of numpy.where: the first of two numbers if the condition is true, otherwise
 * the second. */
template <typename T> T chosen(bool c, T x, T y) { return c ? x : y; }
