/* Returns the number if it is not NaN and selected by where=, otherwise ${neutral}. */
template <typename T> T kept(T x, bool where) { return where && !np_isnan(x) ? x : T(${neutral}); }
