/* Returns the number, or a replacement if the factorization failed. */
template <typename T> T otherwise(T x, int info, T instead) { return info ? instead : x; }
