/* cufftdx.hpp: cuFFTDx is written in PTX. */
#error "numbalite: cuFFTDx (<cufftdx.hpp>) cannot run on the CPU simulator"
