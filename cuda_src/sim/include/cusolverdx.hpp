/* cusolverdx.hpp: cuSOLVERDx is written in PTX. */
#error "numbalite: cuSOLVERDx (<cusolverdx.hpp>) cannot run on the CPU simulator"
