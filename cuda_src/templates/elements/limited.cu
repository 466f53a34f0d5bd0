/* The element of numpy.clip. */
template <typename T> T limited(T x, T low, T high) { return np_minimum(np_maximum(x, low), high); }
