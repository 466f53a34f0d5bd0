/* site: passes the source position of a call of a header's function, for the simulator's deadlock
 * reports. On a GPU, the parameters for source positions do not exist. */
#ifndef NUMBALITE_SITE_CUH
#define NUMBALITE_SITE_CUH

#ifdef NUMBALITE_SIM
#define NUMBALITE_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define NUMBALITE_AND_SITE , NUMBALITE_SITE
#define NUMBALITE_AT_SITE file, line
#define NUMBALITE_AND_HERE , file, line
#else
#define NUMBALITE_SITE
#define NUMBALITE_AND_SITE
#define NUMBALITE_AT_SITE
#define NUMBALITE_AND_HERE
#endif

#endif
