/* Returns 1 if the number is not NaN and selected by where=, otherwise 0. */
template <typename T> long long counted(T x, bool where) { return where && !np_isnan(x); }
