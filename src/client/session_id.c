/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and checks ids and names of sessions.
 *
 * Should:   take the random bits from the kernel (libsodium).
 * Must not: accept a character that has a meaning in a path, a shell or a terminal.
 * Fails:    closed: every other text is not an id. */
#include "client/session_id.h"

#include "base/str.h"

#include <sodium.h>
#include <string.h>

#define PREFIX "sess_"
#define PREFIX_LENGTH 5
#define TIME_DIGITS 10

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void session_id_make(int64_t since_1970_ms, char ret[SESSION_ID_LENGTH + 1]) {
	unsigned char random[SESSION_ID_LENGTH - PREFIX_LENGTH - TIME_DIGITS];
	uint64_t ms = (uint64_t)since_1970_ms;

	memcpy(ret, PREFIX, PREFIX_LENGTH);
	for (int i = TIME_DIGITS - 1; i >= 0; i--) {
		ret[PREFIX_LENGTH + i] = alphabet[ms % 32];
		ms /= 32;
	}
	randombytes_buf(random, sizeof random);
	for (size_t i = 0; i < sizeof random; i++) {
		ret[PREFIX_LENGTH + TIME_DIGITS + i] = alphabet[random[i] % 32];
	}
	ret[SESSION_ID_LENGTH] = '\0';
}

bool session_id_is_valid(const char *text) {
	return strnlen(text, SESSION_ID_LENGTH + 1) == SESSION_ID_LENGTH &&
	       str_starts(text, PREFIX) &&
	       strspn(text + PREFIX_LENGTH, alphabet) == SESSION_ID_LENGTH - PREFIX_LENGTH;
}

static bool is_letter_or_digit(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool session_name_is_valid(const char *text) {
	if (!is_letter_or_digit(text[0]) ||
	    strnlen(text, SESSION_NAME_MAX + 1) > SESSION_NAME_MAX || str_starts(text, PREFIX)) {
		return false;
	}
	for (const char *p = text; *p != '\0'; p++) {
		if (!is_letter_or_digit(*p) && strchr("._-", *p) == NULL) {
			return false;
		}
	}
	return true;
}
