/* cuda_pipeline_primitives.h: asynchronous copies, of which the simulator has none: where one is used is
 * an error. */
#pragma once

#define NUMBALITE_SIM_NO_PIPELINES \
    NUMBALITE_SIM_CANNOT("asynchronous copies (cuda_pipeline.h) cannot run on the CPU simulator")

NUMBALITE_SIM_NO_PIPELINES void __pipeline_memcpy_async(void *, const void *, size_t, size_t = 0);
NUMBALITE_SIM_NO_PIPELINES void __pipeline_commit();
NUMBALITE_SIM_NO_PIPELINES void __pipeline_wait_prior(size_t);
template <class Barrier> NUMBALITE_SIM_NO_PIPELINES void __pipeline_arrive_on(Barrier *);

#undef NUMBALITE_SIM_NO_PIPELINES
