/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an id for one run: a random UUID (version 4), as host products expect it.
 *
 * Should:   be unique without a record of earlier ids.
 * Must not: be made for a run that reports no id: it costs a system call.
 * Fails:    closed: without randomness the run does not start. */
#include "linux/probe.h"

#include <sys/random.h>

#define UUID_BYTES 16

int sandbox_id_probe(struct arena *a, struct host *h, struct err *e) {
	static const char digits[] = "0123456789abcdef";
	unsigned char random[UUID_BYTES];
	char text[2 * UUID_BYTES + 4 + 1];
	size_t at = 0;

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
		return err_sys(e, "probe", "cannot make an id for the run");
	}
	random[6] = (unsigned char)(0x40 | (random[6] & 0x0f)); /* version 4 */
	random[8] = (unsigned char)(0x80 | (random[8] & 0x3f)); /* the variant of RFC 4122 */
	for (size_t i = 0; i < sizeof random; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10) {
			text[at++] = '-';
		}
		text[at++] = digits[random[i] >> 4];
		text[at++] = digits[random[i] & 15];
	}
	text[at] = '\0';
	h->sandbox_id = arena_strdup(a, text);
	return h->sandbox_id == NULL ? err_memory(e, "probe") : 0;
}
