/* base/half: numbers of 16 bits: IEEE's half precision, and bfloat16. */
#ifndef NL_BASE_HALF_H
#define NL_BASE_HALF_H

#include <stdint.h>

/* Half precision, rounded once from double, to nearest even (infinity above the largest half). */
uint16_t nl_half_from_double(double value);
double nl_half_to_double(uint16_t half);
/* The upper half of a float's bits, rounded once. */
uint16_t nl_bfloat16_from_double(double value);
float nl_bfloat16_to_float(uint16_t bits);

#endif
