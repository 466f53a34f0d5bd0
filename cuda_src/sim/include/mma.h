/* mma.h: the names of wmma, of which the simulator has none: where one is used is an error. */
#pragma once

#define NUMBALITE_SIM_WMMA "wmma (mma.h) cannot run on the CPU simulator"
#define NUMBALITE_SIM_NO_WMMA NUMBALITE_SIM_CANNOT(NUMBALITE_SIM_WMMA)

namespace nvcuda {
namespace wmma {

enum layout_t { mem_row_major, mem_col_major };
enum storage_element_type { e };
struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
namespace precision {
struct tf32;
struct u4;
struct s4;
struct b1;
} // namespace precision
namespace experimental = ::nvcuda::wmma;

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment NUMBALITE_SIM_CANNOT_BE(fragment, NUMBALITE_SIM_WMMA);
template <class... Arguments> NUMBALITE_SIM_NO_WMMA void fill_fragment(Arguments &&...);
template <class... Arguments> NUMBALITE_SIM_NO_WMMA void load_matrix_sync(Arguments &&...);
template <class... Arguments> NUMBALITE_SIM_NO_WMMA void store_matrix_sync(Arguments &&...);
template <class... Arguments> NUMBALITE_SIM_NO_WMMA void mma_sync(Arguments &&...);
template <class... Arguments> NUMBALITE_SIM_NO_WMMA void bmma_sync(Arguments &&...);
NUMBALITE_SIM_NO_WMMA float __float_to_tf32(float);

} // namespace wmma
} // namespace nvcuda

#undef NUMBALITE_SIM_NO_WMMA
#undef NUMBALITE_SIM_WMMA
