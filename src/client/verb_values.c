/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the verbs of a client: times of options, JSON of answers.
 *
 * Should:   refuse a time that has no unit.
 * Must not: accept 0, which stands for "not given".
 * Fails:    with a usage error. */
#include "client/verbs.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

int verb_duration(const char *text, const char *option, json_int_t *ret, struct corral_error *err) {
	static const struct {
		const char *unit;
		json_int_t ms;
	} units[] = {{"ms", 1},    {"s", 1000},    {"", 1000},
		     {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
	const long most = 366L * 86400000;
	char *end = NULL;

	if (text == NULL) {
		*ret = 0;
		return 0;
	}
	errno = 0;
	long n = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : 0;
	for (size_t i = 0; n > 0 && errno == 0 && i < ARRAY_LEN(units); i++) {
		if (streq(end, units[i].unit) && n <= most / units[i].ms) {
			*ret = n * units[i].ms;
			return 0;
		}
	}
	return usage_error(err, "from 1ms to 366d; example: 30, 500ms, 10m, 8h",
			   "%s: invalid time \"%s\"", option, text);
}

int verb_print_json(const json_t *value, struct corral_error *err) {
	auto_free char *text = json_dumps(value, JSON_COMPACT);
	return text == NULL ? memory_error(err) : print_text(text, err);
}
