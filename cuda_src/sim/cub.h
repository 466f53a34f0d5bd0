/* sim/cub: declares names of CUB that the simulator does not implement, so that their use is a
 * compile error. */
#ifndef NUMBALITE_SIM_CUB_H
#define NUMBALITE_SIM_CUB_H

#define NUMBALITE_SIM_CUB(name) "cub::" #name " cannot run on the CPU simulator"
#define NUMBALITE_SIM_NO_CUB(name) NUMBALITE_SIM_CANNOT(NUMBALITE_SIM_CUB(name))
#define NUMBALITE_SIM_CUB_CLASS(name) \
    class name NUMBALITE_SIM_CANNOT_BE(name, NUMBALITE_SIM_CUB(name));

namespace cub {

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};
enum WarpLoadAlgorithm {
    WARP_LOAD_DIRECT,
    WARP_LOAD_STRIPED,
    WARP_LOAD_VECTORIZE,
    WARP_LOAD_TRANSPOSE
};
enum WarpStoreAlgorithm {
    WARP_STORE_DIRECT,
    WARP_STORE_STRIPED,
    WARP_STORE_VECTORIZE,
    WARP_STORE_TRANSPOSE
};
enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };

/* Declares class templates with a type parameter, and with a type and numbers: NAME<T, 128,
 * BLOCK_REDUCE_RAKING>. */
#define NUMBALITE_SIM_CUB_OF_TYPE(name) \
    template <class T, auto... parameters> NUMBALITE_SIM_CUB_CLASS(name)
NUMBALITE_SIM_CUB_OF_TYPE(BlockAdjacentDifference)
NUMBALITE_SIM_CUB_OF_TYPE(BlockDiscontinuity)
NUMBALITE_SIM_CUB_OF_TYPE(BlockExchange)
NUMBALITE_SIM_CUB_OF_TYPE(BlockHistogram)
NUMBALITE_SIM_CUB_OF_TYPE(BlockLoad)
NUMBALITE_SIM_CUB_OF_TYPE(BlockReduce)
NUMBALITE_SIM_CUB_OF_TYPE(BlockScan)
NUMBALITE_SIM_CUB_OF_TYPE(BlockShuffle)
NUMBALITE_SIM_CUB_OF_TYPE(BlockStore)
NUMBALITE_SIM_CUB_OF_TYPE(WarpExchange)
NUMBALITE_SIM_CUB_OF_TYPE(WarpLoad)
NUMBALITE_SIM_CUB_OF_TYPE(WarpReduce)
NUMBALITE_SIM_CUB_OF_TYPE(WarpScan)
NUMBALITE_SIM_CUB_OF_TYPE(WarpStore)
#undef NUMBALITE_SIM_CUB_OF_TYPE

/* Declares functions that sort keys, or keys with values. */
struct NullType {};
#define NUMBALITE_SIM_CUB_SORT(name, numbers) \
    template <class Key, numbers, class Value = NullType, auto... parameters> \
    NUMBALITE_SIM_CUB_CLASS(name)
#define NUMBALITE_SIM_TWO_NUMBERS int threads, int items
NUMBALITE_SIM_CUB_SORT(BlockMergeSort, NUMBALITE_SIM_TWO_NUMBERS)
NUMBALITE_SIM_CUB_SORT(BlockRadixSort, NUMBALITE_SIM_TWO_NUMBERS)
NUMBALITE_SIM_CUB_SORT(WarpMergeSort, NUMBALITE_SIM_TWO_NUMBERS)
#undef NUMBALITE_SIM_CUB_SORT
#undef NUMBALITE_SIM_TWO_NUMBERS
template <auto... parameters> NUMBALITE_SIM_CUB_CLASS(BlockRadixRank)
template <class Item, auto... parameters>
NUMBALITE_SIM_CUB_CLASS(BlockRunLengthDecode)

#define NUMBALITE_SIM_CUB_FUNCTION(name) \
    template <class... Arguments> NUMBALITE_SIM_NO_CUB(name) int name(Arguments &&...);
NUMBALITE_SIM_CUB_FUNCTION(LoadDirectBlocked)
NUMBALITE_SIM_CUB_FUNCTION(LoadDirectBlockedVectorized)
NUMBALITE_SIM_CUB_FUNCTION(LoadDirectStriped)
NUMBALITE_SIM_CUB_FUNCTION(LoadDirectWarpStriped)
NUMBALITE_SIM_CUB_FUNCTION(StoreDirectBlocked)
NUMBALITE_SIM_CUB_FUNCTION(StoreDirectBlockedVectorized)
NUMBALITE_SIM_CUB_FUNCTION(StoreDirectStriped)
NUMBALITE_SIM_CUB_FUNCTION(StoreDirectWarpStriped)
NUMBALITE_SIM_CUB_FUNCTION(LaneId)
NUMBALITE_SIM_CUB_FUNCTION(WarpId)
NUMBALITE_SIM_CUB_FUNCTION(RowMajorTid)
NUMBALITE_SIM_CUB_FUNCTION(LowerBound)
NUMBALITE_SIM_CUB_FUNCTION(UpperBound)
NUMBALITE_SIM_CUB_FUNCTION(StableOddEvenSort)
#undef NUMBALITE_SIM_CUB_FUNCTION
template <CacheLoadModifier modifier, class Iterator>
NUMBALITE_SIM_NO_CUB(ThreadLoad) int ThreadLoad(Iterator);
template <CacheStoreModifier modifier, class Iterator, class T>
NUMBALITE_SIM_NO_CUB(ThreadStore) void ThreadStore(Iterator, T);
namespace internal {
template <class... Arguments> NUMBALITE_SIM_NO_CUB(ThreadReduce) int ThreadReduce(Arguments &&...);
}
using internal::ThreadReduce;

/* Defines CUB's operators, which exist in all of its versions. */
struct Sum {
    template <class T> T operator()(const T &a, const T &b) const { return a + b; }
};
struct Max {
    template <class T> T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
struct Min {
    template <class T> T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};

} // namespace cub

#undef NUMBALITE_SIM_NO_CUB
#undef NUMBALITE_SIM_CUB_CLASS
#undef NUMBALITE_SIM_CUB

#endif
