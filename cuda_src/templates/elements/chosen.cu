/* What numpy.where computes: of two numbers, the first where a condition is true. */
template <typename T> T chosen(bool c, T x, T y) { return c ? x : y; }
