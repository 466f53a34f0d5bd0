/* curanddx.hpp: cuRANDDx is written in PTX. */
#error "numbalite: cuRANDDx (<curanddx.hpp>) cannot run on the CPU simulator"
