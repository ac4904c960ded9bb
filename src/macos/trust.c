/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by the C library of macOS, where libsodium is not linked.
 *
 * Should:   give the same name to a private home as on Linux.
 * Must not: be used for a decision about trust: there are no policy files here.
 * Fails:    never. */
#include "policy/policy.h"

#include <CommonCrypto/CommonDigest.h>

void trust_sha256_hex(const void *data, size_t len, char ret[65]) {
	static const char digits[] = "0123456789abcdef";
	unsigned char hash[32];
	(void)CC_SHA256(data, (uint32_t)len, hash); /* it returns its argument */
	for (size_t i = 0; i < sizeof hash; i++) {
		ret[2 * i] = digits[hash[i] >> 4];
		ret[2 * i + 1] = digits[hash[i] & 15];
	}
	ret[64] = '\0';
}
