/* SPDX-License-Identifier: Apache-2.0 */
/* Of <math.h>. */
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define isfinite(x) __builtin_isfinite(x)
#define isnan(x) __builtin_isnan(x)
