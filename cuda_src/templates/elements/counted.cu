/* Is a number no NaN, and asked for by where=? */
template <typename T> long long counted(T x, bool where) { return where && !np_isnan(x); }
