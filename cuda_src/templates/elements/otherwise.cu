/* A number, or another one instead where a factorization has failed. */
template <typename T> T otherwise(T x, int info, T instead) { return info ? instead : x; }
