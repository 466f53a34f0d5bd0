/* sim/library_head: includes head.h, then the headers of numbalite with which many generated
 * sources begin. The header is precompiled (numbalite/compilers/hostprelude.py), which requires a
 * file that remains on disk, so macros name the headers. */
#include "head.h"
#ifdef NUMBALITE_HEAD_1
#include NUMBALITE_HEAD_1
#endif
#ifdef NUMBALITE_HEAD_2
#include NUMBALITE_HEAD_2
#endif
#ifdef NUMBALITE_HEAD_3
#include NUMBALITE_HEAD_3
#endif
#ifdef NUMBALITE_HEAD_4
#include NUMBALITE_HEAD_4
#endif
