/* sim/groups: names of cooperative groups that the simulator does not have, for numbalite/groups.cuh, which
 * includes this inside of its namespace. */

#define NUMBALITE_SIM_GROUP(name) "cooperative_groups::" name " cannot run on the CPU simulator"
#define NUMBALITE_SIM_NO_GROUP(name) NUMBALITE_SIM_CANNOT(NUMBALITE_SIM_GROUP(name))

class NUMBALITE_SIM_NO_GROUP("multi_grid_group") multi_grid_group {};
NUMBALITE_SIM_NO_GROUP("this_multi_grid") int this_multi_grid();
template <unsigned int threads>
struct block_tile_memory NUMBALITE_SIM_CANNOT_BE(block_tile_memory,
                                                 NUMBALITE_SIM_GROUP("block_tile_memory"));
template <unsigned int threads>
NUMBALITE_SIM_NO_GROUP("block_tile_memory")
thread_block this_thread_block(block_tile_memory<threads> &);
template <class Group, class... Arguments>
NUMBALITE_SIM_NO_GROUP("reduce_update_async") void reduce_update_async(const Group &, Arguments &&...);
template <class Group, class... Arguments>
NUMBALITE_SIM_NO_GROUP("reduce_store_async") void reduce_store_async(const Group &, Arguments &&...);

#undef NUMBALITE_SIM_NO_GROUP
#undef NUMBALITE_SIM_GROUP
