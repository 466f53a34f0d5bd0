/* A kernel of a ufunc: the computation of one element, and one kind of loop over the elements. */
struct nl_element {
    template <class nl_L> NUMBALITE_FUNCTION static void apply(nl_L &l, int j) {
${body}
    }
};
extern "C" __global__ void __launch_bounds__(${threads})
${kernel}(const __grid_constant__ nl_ufunc::${parameter} p) {
    using namespace nl_ufunc;
    run<nl_element, ${per_thread}, ${operands}>(p);
}
