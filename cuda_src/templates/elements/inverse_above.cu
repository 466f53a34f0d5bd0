/* 1 / x where x is above a limit, else 0. */
template <typename T> T inverse_above(T x, T limit) { return x > limit ? 1 / x : T(0); }
