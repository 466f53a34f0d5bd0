/* A histogram whose bins are computed by the user's function (histogram.cuh). */
struct nl_bin {
    NUMBALITE_FUNCTION numbalite::int64 operator()(const ${T} &x) const {
        return static_cast<numbalite::int64>(${call});
    }
};
extern "C" __global__ void __launch_bounds__(numbalite::nl_count::THREADS) nl_histogram(
    const void *x, const void *weights, void *counts, unsigned long long n, unsigned long long bins) {
    numbalite::nl_count::histogram<${T}, ${W}, ${A}>(
        (const ${T} *)x, weights, (${A} *)counts, n, bins, nl_bin());
}
