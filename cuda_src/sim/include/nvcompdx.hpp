/* nvcompdx.hpp: nvCOMPDx is written in PTX. */
#error "numbalite: nvCOMPDx (<nvcompdx.hpp>) cannot run on the CPU simulator"
