/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the ids of one run: Corral's own, and the UUID that host products expect.
 *
 * The id is the same in the result, in `corral ps`, in the copy-on-write store and in the audit
 * log.  The UUID (version 4) is only for the variables of env.prefix.
 *
 * Should:   be unique without a record of earlier ids.
 * Must not: cost more than one system call.
 * Fails:    closed: without randomness the run does not start. */
#include "backend/probe.h"

#include "base/run_id.h"

#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define UUID_BYTES 16
#define UUID_TEXT (2 * UUID_BYTES + 4)

static void uuid_text(unsigned char bytes[UUID_BYTES], char ret[UUID_TEXT + 1]) {
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;

	bytes[6] = (unsigned char)(0x40 | (bytes[6] & 0x0f)); /* version 4 */
	bytes[8] = (unsigned char)(0x80 | (bytes[8] & 0x3f)); /* the variant of RFC 4122 */
	for (size_t i = 0; i < UUID_BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10) {
			ret[at++] = '-';
		}
		ret[at++] = digits[bytes[i] >> 4];
		ret[at++] = digits[bytes[i] & 15];
	}
	ret[at] = '\0';
}

int run_id_probe(struct arena *a, struct host *h, struct err *e) {
	unsigned char random[sizeof(uint32_t) + UUID_BYTES];
	char id[RUN_ID_LENGTH + 1], uuid[UUID_TEXT + 1];
	struct timespec now;
	uint32_t bits;

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
		return err_sys(e, "probe", "cannot make an id for the run");
	}
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	h->started_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	memcpy(&bits, random, sizeof bits);
	run_id_text(h->started_ms, bits, id);
	uuid_text(random + sizeof bits, uuid);
	h->run_id = arena_strdup(a, id);
	h->run_uuid = arena_strdup(a, uuid);
	return h->run_id == NULL || h->run_uuid == NULL ? err_memory(e, "probe") : 0;
}
