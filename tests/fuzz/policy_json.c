/* SPDX-License-Identifier: Apache-2.0 */
/* Policy files in JSON: everything policy.c states. */
#include "policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	policy_attack(doc_parse_json, "given.json", data, size);
	return 0;
}
