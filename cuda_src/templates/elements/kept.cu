/* A number where it is no NaN and asked for by where=; the others count as ${neutral}. */
template <typename T> T kept(T x, bool where) { return where && !np_isnan(x) ? x : T(${neutral}); }
