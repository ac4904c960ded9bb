/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, errors and handles of the Windows API in Corral's terms. */
#ifndef CORRAL_WINDOWS_WIDE_H
#define CORRAL_WINDOWS_WIDE_H

#include "windows/api.h"

#include "base/arena.h"
#include "base/err.h"

#include <stdint.h>
#include <wchar.h>

/* UTF-8 as UTF-16 in the arena; NULL: not UTF-8, or memory is out. */
wchar_t *wide_text(struct arena *a, const char *text);
/* The reverse; NULL: not Unicode, or memory is out. */
char *wide_narrow(struct arena *a, const wchar_t *text);

/* An absolute path in the form that has no limit of 260 characters: \\?\C:\… */
wchar_t *wide_path(struct arena *a, const char *path);

/* As err_sys(): with the error number of Windows and its text. */
int wide_fail(struct err *e, const char *where, const char *what, const char *object,
	      uint32_t code);

#ifdef _WIN32
static inline void auto_handle_(const HANDLE *h) {
	if (*h != NULL && *h != INVALID_HANDLE_VALUE) {
		(void)CloseHandle(*h); /* nothing useful can be done about a failing close */
	}
}
#define auto_handle __attribute__((cleanup(auto_handle_))) HANDLE

static inline void auto_local_(void *p) {
	(void)LocalFree(*(HLOCAL *)p); /* memory of the API; NULL is accepted */
}
#define auto_local __attribute__((cleanup(auto_local_)))
#endif

#endif
