/* SPDX-License-Identifier: Apache-2.0 */
/* Relays the streams of a command through pipes.
 *
 * Should:   keep or pass on every byte that the command wrote before it ended.
 * Must not: give the command a handle of corral.exe's console: with one it could write input for
 *           the programs that run there later.
 * Fails:    closed before the command starts; then a stream whose reader is gone is closed. */
#include "windows/relay.h"

#include "base/auto.h"
#include "windows/wide.h"

#define WHERE "streams"
#define CHUNK 65536

static bool write_all(HANDLE to, const char *bytes, DWORD len) {
	while (len > 0) {
		DWORD done = 0;
		if (!WriteFile(to, bytes, len, &done, NULL) || done == 0) {
			return false;
		}
		bytes += done;
		len -= done;
	}
	return true;
}

static DWORD WINAPI pump(void *arg) {
	struct relay *r = arg;
	auto_free char *chunk = malloc(CHUNK);
	DWORD got = 0;

	while (chunk != NULL && ReadFile(r->from, chunk, CHUNK, &got, NULL) && got > 0) {
		if (r->last_ms != NULL) {
			(void)InterlockedExchange64(r->last_ms, (LONG64)GetTickCount64());
		}
		if (r->to == NULL) {
			capture_add(&r->capture, chunk, got);
		} else if (!write_all(r->to, chunk, got)) {
			break;
		}
	}
	return 0;
}

/* stdin: the end of the pipe is closed when the input ends. */
static DWORD WINAPI feed(void *arg) {
	struct relay *r = arg;

	(void)pump(arg); /* it returns 0 */
	(void)CloseHandle(r->to);
	r->to = NULL;
	return 0;
}

/* A pipe of which the command inherits one end. */
static int make_pipe(HANDLE *ret_read, HANDLE *ret_write, bool reader_inside, struct err *e) {
	if (!CreatePipe(ret_read, ret_write, NULL, 0) ||
	    !SetHandleInformation(reader_inside ? *ret_read : *ret_write, HANDLE_FLAG_INHERIT,
				  HANDLE_FLAG_INHERIT)) {
		return wide_fail(e, WHERE, "cannot create a pipe", "", GetLastError());
	}
	return 0;
}

static int empty_input(HANDLE *ret, struct err *e) {
	SECURITY_ATTRIBUTES inherit = {.nLength = sizeof inherit, .bInheritHandle = TRUE};

	*ret = CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherit,
			   OPEN_EXISTING, 0, NULL);
	return *ret != INVALID_HANDLE_VALUE
		       ? 0
		       : wide_fail(e, WHERE, "cannot open", "NUL", GetLastError());
}

int relay_begin(struct relays *r, bool captured, bool input, int64_t limit, struct err *e) {
	*r = (struct relays){0};
	r->last_ms = (LONG64)GetTickCount64();
	r->out.last_ms = r->err.last_ms = &r->last_ms;
	capture_init(&r->out.capture, limit);
	capture_init(&r->err.capture, limit);
	if (make_pipe(&r->out.from, &r->inside[1], false, e) != 0 ||
	    make_pipe(&r->err.from, &r->inside[2], false, e) != 0) {
		return -1;
	}
	if (!captured) {
		r->out.to = GetStdHandle(STD_OUTPUT_HANDLE);
		r->err.to = GetStdHandle(STD_ERROR_HANDLE);
	}
	r->in.from = input ? GetStdHandle(STD_INPUT_HANDLE) : NULL;
	bool usable = r->in.from != NULL && r->in.from != INVALID_HANDLE_VALUE;
	return usable ? make_pipe(&r->inside[0], &r->in.to, true, e)
		      : empty_input(&r->inside[0], e);
}

int relay_start(struct relays *r, struct err *e) {
	for (size_t i = 0; i < ARRAY_LEN(r->inside); i++) {
		(void)CloseHandle(r->inside[i]);
		r->inside[i] = NULL;
	}
	r->out.thread = CreateThread(NULL, 0, pump, &r->out, 0, NULL);
	r->err.thread = CreateThread(NULL, 0, pump, &r->err, 0, NULL);
	r->in.thread = r->in.to == NULL ? NULL : CreateThread(NULL, 0, feed, &r->in, 0, NULL);
	return r->out.thread != NULL && r->err.thread != NULL &&
			       (r->in.to == NULL || r->in.thread != NULL)
		       ? 0
		       : wide_fail(e, WHERE, "cannot create a thread", "", GetLastError());
}

/* The thread of stdin may wait for input that never comes: it ends with corral.exe. */
void relay_end(struct relays *r) {
	struct relay *const ends[] = {&r->out, &r->err};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (ends[i]->thread != NULL) {
			(void)WaitForSingleObject(ends[i]->thread, INFINITE);
			(void)CloseHandle(ends[i]->thread);
			ends[i]->thread = NULL;
		}
		if (ends[i]->from != NULL) {
			(void)CloseHandle(ends[i]->from);
			ends[i]->from = NULL;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(r->inside); i++) {
		if (r->inside[i] != NULL) {
			(void)CloseHandle(r->inside[i]);
			r->inside[i] = NULL;
		}
	}
}
