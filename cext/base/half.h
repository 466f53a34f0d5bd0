/* base/half: 16-bit floating-point numbers: IEEE half precision and bfloat16. */
#ifndef NL_BASE_HALF_H
#define NL_BASE_HALF_H

#include <stdint.h>

/* Converts a double to half precision with one rounding, to nearest even. A value that rounds above
 * the largest half becomes infinity. */
uint16_t nl_half_from_double(double value);
double nl_half_to_double(uint16_t half);
/* Converts a double to bfloat16, the upper half of a float's bits, with one rounding to nearest
 * even. */
uint16_t nl_half_bfloat16_from_double(double value);
float nl_half_bfloat16_to_float(uint16_t bits);

#endif
