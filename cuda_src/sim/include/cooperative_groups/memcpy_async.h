/* cooperative_groups/memcpy_async.h is not for the simulator. */
#error "numbalite: cooperative_groups::memcpy_async cannot run on the CPU simulator"
