/* crt/mma.h is not for the simulator. */
#error "numbalite: wmma (mma.h) cannot run on the CPU simulator"
