/* cublasdx.hpp: cuBLASDx is written in PTX. */
#error "numbalite: cuBLASDx (<cublasdx.hpp>) cannot run on the CPU simulator"
