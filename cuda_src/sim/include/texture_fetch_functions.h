/* texture_fetch_functions.h is not for the simulator. */
#error "numbalite: textures and surfaces cannot run on the CPU simulator"
