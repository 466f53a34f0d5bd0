/* The kernels of a sort by the user's comparison (merge_sort.cuh). */
struct nl_less {
    NUMBALITE_FUNCTION bool operator()(const ${T} &a, const ${T} &b) const {
        return static_cast<bool>(${call});
    }
};
typedef numbalite::nl_merge::placed<${T}> nl_placed;
typedef numbalite::nl_merge::element<${T}> nl_element;
template <class E> NUMBALITE_FUNCTION void nl_merge_of(
    const void *from, void *to, unsigned long long rows, unsigned long long n,
    unsigned long long threads, unsigned long long length) {
    numbalite::nl_merge::merge_runs((const E *)from, (E *)to, rows, n, threads, length, nl_less());
}
extern "C" __global__ void __launch_bounds__(256) nl_tiles(
    const void *from, void *to, unsigned long long rows, unsigned long long n,
    unsigned long long tiles, unsigned long long) {
    numbalite::nl_merge::sort_tiles<nl_element, ${T}, ${width}>((const ${T} *)from, (nl_element *)to, n, tiles, nl_less());
}
extern "C" __global__ void __launch_bounds__(256) nl_tiles_placed(
    const void *from, void *to, unsigned long long rows, unsigned long long n,
    unsigned long long tiles, unsigned long long) {
    numbalite::nl_merge::sort_tiles<nl_placed, ${T}, ${width}>((const ${T} *)from, (nl_placed *)to, n, tiles, nl_less());
}
extern "C" __global__ void __launch_bounds__(256) nl_merge_values(
    const void *from, void *to, unsigned long long rows, unsigned long long n,
    unsigned long long threads, unsigned long long length) {
    nl_merge_of<nl_element>(from, to, rows, n, threads, length);
}
extern "C" __global__ void __launch_bounds__(256) nl_merge_placed(
    const void *from, void *to, unsigned long long rows, unsigned long long n,
    unsigned long long threads, unsigned long long length) {
    nl_merge_of<nl_placed>(from, to, rows, n, threads, length);
}
extern "C" __global__ void __launch_bounds__(256) nl_places(
    const void *from, void *to, unsigned long long rows, unsigned long long n,
    unsigned long long, unsigned long long) {
    numbalite::nl_merge::write_positions((const nl_placed *)from, (numbalite::int64 *)to, rows * n);
}
