# What gdb needs to know of simulated kernels:   python -m numbalite gdb lesson.py
#
# Kernels are loaded while the program runs, so breakpoints wait for them. threadIdx and the others are
# macros, which debug information leaves out; here is where they lie. The rest keeps `step` out of
# numbalite's own code.
set breakpoint pending on
set debuginfod enabled off
set pagination off
macro define threadIdx (*(const uint3 *)&numbalite_sim::here.thread_x)
macro define blockIdx (*(const uint3 *)&numbalite_sim::here.block_x)
macro define blockDim (*(const uint3 *)&numbalite_sim::here.block_dim_x)
macro define gridDim (*(const uint3 *)&numbalite_sim::here.grid_dim_x)
skip -gfi */cuda_src/*
skip -gfi */_cuda_src/*
skip -gfi */cext/*
skip -gfi cext/*
skip -rfu ^__tsan_
