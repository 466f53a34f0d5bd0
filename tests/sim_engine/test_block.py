"""Tests threads of a block: barriers, warps, early exits, and the engine's reports of deadlocks."""

import operator
from functools import reduce

import pytest
from sim_driver import DriverError


def run_kernel(driver, kernels, name, grid, block, values, n=0, m=0, **options):
    data = driver.upload(values)
    try:
        getattr(kernels, name)(grid, block, data, n, m, **options)
        return driver.download(data, len(values))
    finally:
        driver.free(data)


def message_of_fault(driver, kernels, name, grid, block, n=0, m=0, size=4096, **options):
    data = driver.upload([0] * size)
    try:
        getattr(kernels, name)(grid, block, data, n, m, **options)
        with pytest.raises(DriverError) as caught:
            driver.synchronize()
    finally:
        driver.free(data)
    driver.synchronize()  # reported once; the device continues
    return caught.value


def test_vadd_of_eight_blocks_computes_sums(sim_driver, engine_kernels):
    n = 1000
    out = run_kernel(
        sim_driver, engine_kernels, "vadd", 8, 128, [*range(n), *range(n), *[0] * n], n
    )
    assert out[2 * n :] == [2 * i for i in range(n)]


@pytest.mark.parametrize("block", [1, 2, 31, 32, 33, 128, 1024])
def test_barrier_orders_shared_memory_accesses(sim_driver, engine_kernels, block):
    for _ in range(
        2
    ):  # the first launch runs as a loop over the threads, the second launch as fibers
        out = run_kernel(sim_driver, engine_kernels, "reverse", 7, block, list(range(7 * block)))
        assert out == [b * block + block - 1 - t for b in range(7) for t in range(block)]


def test_thread_ranks_in_three_dimensions_are_linear(sim_driver, engine_kernels):
    grid, block = (3, 2, 2), (4, 3, 2)
    out = run_kernel(sim_driver, engine_kernels, "ranks", grid, block, [0] * (12 * 24))
    one = [x + 1000 * y + 1000000 * z for z in range(2) for y in range(3) for x in range(4)]
    assert out == one * 12


def test_exited_threads_count_as_arrived(sim_driver, engine_kernels):
    for _ in range(2):
        out = run_kernel(sim_driver, engine_kernels, "early", 1, 96, [0] * 97)
        for t in range(96):
            neighbours = (t - 1) % 3 != 0, (t + 1) % 3 != 0 and t + 1 < 96
            assert out[t] == 0 if t % 3 == 0 else out[t] >= 101 + sum(neighbours) - 1


@pytest.mark.parametrize("alone", [0, 1, 17, 63])
def test_barrier_of_a_single_remaining_thread_completes(sim_driver, engine_kernels, alone):
    for _ in range(2):
        assert run_kernel(sim_driver, engine_kernels, "lonely", 2, 64, [0] * 64, alone) == [2] * 64


def test_syncthreads_count_and_or_return_votes(sim_driver, engine_kernels):
    out = run_kernel(sim_driver, engine_kernels, "votes", 1, 50, [0] * 150, 50)
    assert out == [25, 1, 0] * 50
    out = run_kernel(sim_driver, engine_kernels, "votes", 1, 50, [0] * 150, 49)
    assert out == [25, 0, 1] * 50


@pytest.mark.parametrize("xor", [1, 5, 31])
def test_shuffle_xor_exchanges_lanes(sim_driver, engine_kernels, xor):
    for _ in range(2):
        assert run_kernel(sim_driver, engine_kernels, "shuffle", 1, 96, [0] * 96, xor) == [
            t ^ xor for t in range(96)
        ]


def test_shuffle_down_sums_a_warp(sim_driver, engine_kernels):
    out = run_kernel(sim_driver, engine_kernels, "reduce", 1, 128, [0] * 128)
    assert out == [sum(range(t // 32 * 32, t // 32 * 32 + 32)) for t in range(128)]


def test_collectives_in_divergent_branches_return_expected_values(sim_driver, engine_kernels):
    threads = 64
    out = run_kernel(sim_driver, engine_kernels, "collect", 1, threads, [0] * (16 * threads))

    def to_signed(v):
        v &= 0xFFFFFFFF
        return v - (1 << 32) if v >> 31 else v

    for t in range(threads):
        lanes = [u for u in range(t // 32 * 32, t // 32 * 32 + 32) if u % 2 == t % 2]
        brought = {u: (u % 7 - 3) & 0xFFFFFFFF if t % 2 else u % 5 for u in lanes}
        values = list(brought.values())
        expected = [
            sum(1 << (u % 32) for u in lanes if brought[u]),
            sum(1 << (u % 32) for u in lanes if brought[u] == brought[t]),
            0,
            sum(values),
            min(values, key=to_signed),
            max(values, key=to_signed),
            min(values),
            max(values),
            reduce(operator.and_, values),
            reduce(operator.or_, values),
            reduce(operator.xor, values),
        ]
        assert out[16 * t + 2 : 16 * t + 13] == [to_signed(v) for v in expected], t


def test_activemask_follows_divergence(sim_driver, engine_kernels):
    for _ in range(2):
        out = run_kernel(sim_driver, engine_kernels, "active", 1, 64, [0] * 64)
        some = sum(1 << lane for lane in range(0, 32, 4))
        for t in range(64):
            mask = some if t % 4 == 0 else ~some & 0xFFFFFFFF
            assert out[t] & 0xFFFFFFFF == mask + (t % 32 >= 16)


def test_spinlock_between_threads_and_blocks_loses_no_update(sim_driver, engine_kernels):
    for n in (0, 1):
        assert run_kernel(sim_driver, engine_kernels, "locked", 20, 64, [0, 0], n) == [0, 20 * 64]


def test_spinning_on_a_later_thread_makes_progress(sim_driver, engine_kernels):
    assert run_kernel(sim_driver, engine_kernels, "handshake", 10, 96, [0] * 10) == [1] * 10


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("m", [0, 1])
def test_exited_threads_do_not_block_others(sim_driver, engine_kernels, n, m):
    for _ in range(2):
        assert run_kernel(sim_driver, engine_kernels, "leave", 1, 33, [0] * 33, n, m) == [
            1 if t % 2 else 11 for t in range(33)
        ]


def test_grid_barrier_orders_blocks(sim_driver, engine_kernels):
    blocks, threads, steps = 6, 64, 10
    total = blocks * threads
    out = run_kernel(
        sim_driver,
        engine_kernels,
        "cooperate",
        blocks,
        threads,
        [0] * (2 * total),
        steps,
        cooperative=True,
    )
    assert out[(steps - 1) % 2 * total :][:total] == [steps] * total


def test_grid_barrier_needs_a_cooperative_launch(sim_driver, engine_kernels):
    fault = message_of_fault(sim_driver, engine_kernels, "cooperate", 2, 32, 1)
    assert "needs a cooperative launch" in fault.text


def test_grid_barrier_with_an_exited_block_is_reported(sim_driver, engine_kernels):
    fault = message_of_fault(sim_driver, engine_kernels, "deserter", 4, 32, cooperative=True)
    assert fault.code == 702
    assert "3 of its 4 blocks wait" in fault.text


def test_deadlock_names_threads_lines_and_operations(sim_driver, engine_kernels):
    fault = message_of_fault(sim_driver, engine_kernels, "divergent", 1, 32)
    assert fault.code == 702
    assert "kernel divergent, block (0,0,0): the block cannot go on" in fault.text
    assert "threads 0-15 at test.py:" in fault.text
    assert "in __syncthreads" in fault.text
    assert "in __syncwarp with mask 0xffff0001, which also names thread 0" in fault.text


def test_barriers_at_different_lines_are_reported(sim_driver, engine_kernels):
    fault = message_of_fault(sim_driver, engine_kernels, "two_barriers", 1, 8)
    assert "threads of the block are at different barriers: " in fault.text
    assert "threads 0, 2, 4, 6 at test.py:" in fault.text
    assert "threads 1, 3, 5, 7 at test.py:" in fault.text


def test_warp_mask_without_the_caller_is_reported(sim_driver, engine_kernels):
    fault = message_of_fault(sim_driver, engine_kernels, "bad_mask", 1, 32)
    assert "thread (7,0,0)" in fault.text
    assert "does not name the calling lane 7" in fault.text


def test_shuffle_at_different_lines_is_reported(sim_driver, engine_kernels):
    fault = message_of_fault(sim_driver, engine_kernels, "two_shuffles", 1, 64)
    assert fault.code == 715
    assert "are at different lines" in fault.text
    for threads in ("threads 0-15 at test.py:", "threads 16-31 at test.py:"):
        assert threads in fault.text
    assert "in __shfl_sync with mask 0xffffffff" in fault.text
    assert "32" not in fault.text.partition("thread")[2].replace("0xffffffff", "")


def test_syncwarp_at_different_lines_is_accepted(sim_driver, engine_kernels):
    out = run_kernel(sim_driver, engine_kernels, "two_syncwarps", 1, 64, [0] * 64)
    assert out == [t ^ 16 for t in range(64)]


def test_dynamic_shared_memory_is_per_block(sim_driver, engine_kernels):
    out = run_kernel(sim_driver, engine_kernels, "shared_memory", 2, 100, [0] * 100, shared=400)
    assert out == list(range(99, -1, -1))
