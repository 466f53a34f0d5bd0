#ifndef SUITE_RAW_POINTER_CAST_H
#define SUITE_RAW_POINTER_CAST_H
namespace thrust {
template <class T> __host__ __device__ T *raw_pointer_cast(T *p) { return p; }
} // namespace thrust
#endif
