/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers with a point, in every locale. */
#ifndef CORRAL_BASE_FLOAT_H
#define CORRAL_BASE_FLOAT_H

/* The number that the digits begin with, as strtod(3) in the C locale. */
double float_read(const char *digits);

#endif
