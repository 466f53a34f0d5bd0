/* cuda_pipeline.h: declares the pipeline primitives, and nvcuda::experimental::pipeline. */
#pragma once
#include <cuda_pipeline_primitives.h>

namespace nvcuda {
namespace experimental {

class pipeline {
    size_t committed = 0;

  public:
    pipeline() = default;
    pipeline(const pipeline &) = delete;
    pipeline &operator=(const pipeline &) = delete;
    size_t commit() {
        __pipeline_commit();
        return committed++;
    }
    void commit_and_wait() { wait(commit()); }
    void wait(size_t group) { __pipeline_wait_prior(committed - group - 1); }
    template <unsigned stages> void wait_prior() { __pipeline_wait_prior(stages); }
    template <class Barrier> void arrive_on(Barrier &barrier) { __pipeline_arrive_on(&barrier); }
};
template <class T> NUMBALITE_SIM_INLINE void memcpy_async(T &to, const T &from, pipeline &) {
    numbalite_sim::copy_part(&to, &from, sizeof(T), 0, 1);
}

} // namespace experimental
} // namespace nvcuda
