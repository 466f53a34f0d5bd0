"""Tests which kernels are classified as waiting for the grid."""

import pytest

from numbalite.cxx import cooperative


@pytest.mark.parametrize(
    "body",
    [
        "this_grid().sync();",
        "auto g = cooperative_groups::this_grid(); int x = 1; g.sync();",
        "cg::grid_group grid = cg::this_grid(); cg::sync(grid);",
        "auto b = this_thread_block(); b.sync(); auto g = this_grid(); g . sync();",
        "const grid_group &g = this_grid(); g.barrier_wait(g.barrier_arrive());",
        "auto g = this_grid(); wait_for(g);",  # a template that calls sync() of its argument
        "auto g = this_thread_block(); { auto g = this_grid(); g.sync(); }",
        "SYNC(this_grid());",
    ],
)
def test_grid_sync_is_detected(body):
    text = f"""
        #define SYNC(g) g.sync()
        template <class G> __device__ void wait_for(const G &any_group) {{ any_group.sync(); }}
        __global__ void k(int *x) {{ {body} }}"""
    assert cooperative.waits_for_grid(text, "k")
    if "wait_for" not in body and "SYNC" not in body:
        assert cooperative.waits_for_grid(body)


@pytest.mark.parametrize(
    "body",
    [
        "x[cg::this_grid().thread_rank()] = 1;",
        "auto g = cg::this_grid(); x[g.thread_rank()] = g.size(); __syncthreads();",
        "auto b = cg::this_thread_block(); b.sync(); x[this_grid().thread_rank()] = 1; cg::sync(b);",
        "thread_block_tile<32, thread_block> t = tiled_partition<32>(this_thread_block()); t.sync();"
        "x[this_grid().block_rank()] = 1;",
        "this_thread_block().sync(); tiled_partition<8>(this_thread_block()).sync(); this_grid().size();",
        'printf("g.sync();"); // this_grid().sync()',
    ],
)
def test_kernels_without_grid_sync_are_not_cooperative(body):
    other = "__global__ void waits() { cg::this_grid().sync(); }\n"
    assert not cooperative.waits_for_grid(f"{other}__global__ void k(int *x) {{ {body} }}", "k")
    assert not cooperative.waits_for_grid(body)
    assert cooperative.waits_for_grid(f"{other}__global__ void k(int *x) {{ {body} }}", "waits")
