/* The inner loop of a ufunc for the CPU, which NumPy calls. */
extern "C" int ${name}(void *, char *const *data, const long long *n, const long long *strides, void *) {
    return numbalite_host::${run}(${arguments});
}
