/* SPDX-License-Identifier: Apache-2.0 */
/* Converts texts and errors between Corral and the Windows API.
 *
 * Should:   give every error its number, which a person can look up.
 * Must not: print.
 * Fails:    closed: a text that is not Unicode is NULL. */
#include "windows/wide.h"

#include "base/auto.h"
#include "base/str.h"
#include "windows/utf16.h"

#include <stdio.h>

wchar_t *wide_text(struct arena *a, const char *text) {
	size_t n;
	auto_free uint16_t *units = utf16_new(text, &n);
	wchar_t *kept = units == NULL ? NULL : arena_array(a, n + 1, sizeof *kept);

	if (kept != NULL) {
		memcpy(kept, units, n * sizeof *kept);
	}
	return kept;
}

char *wide_narrow(struct arena *a, const wchar_t *text) {
	struct buf out;
	char *kept = NULL;

	buf_init(&out);
	if (utf16_text((const uint16_t *)text, wcslen(text), &out) && !buf_failed(&out)) {
		kept = arena_strndup(a, out.len == 0 ? "" : out.data, out.len);
	}
	buf_done(&out);
	return kept;
}

wchar_t *wide_path(struct arena *a, const char *path) {
	const char *shown = str_starts(path, "\\\\") ? arena_printf(a, "\\\\?\\UNC%s", path + 1)
						     : arena_printf(a, "\\\\?\\%s", path);
	return shown == NULL ? NULL : wide_text(a, shown);
}

int wide_fail(struct err *e, const char *where, const char *what, const char *object,
	      uint32_t code) {
	wchar_t text[160] = L"";
	struct buf out;

	(void)FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code,
			     0, text, ARRAY_LEN(text), NULL); /* the number alone is enough */
	text[wcscspn(text, L"\r\n")] = L'\0';
	buf_init(&out);
	if (!utf16_text((const uint16_t *)text, wcslen(text), &out) || buf_failed(&out)) {
		out.len = 0;
	}
	(void)err_set(e, ERR_SETUP, where, "%s%s%s: error %u%s%s", what,
		      object[0] == '\0' ? "" : " ", object, (unsigned)code,
		      out.len == 0 ? "" : ", ", out.len == 0 ? "" : out.data);
	buf_done(&out);
	return -1;
}
