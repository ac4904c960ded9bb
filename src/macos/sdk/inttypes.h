/* SPDX-License-Identifier: Apache-2.0 */
/* Of <inttypes.h>: int64_t is long long on macOS. */
#include <stdint.h>
#define PRId64 "lld"
#define PRIu64 "llu"
