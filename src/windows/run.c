/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one command on Windows.
 *
 * Should:   end every process of the run before it undoes the grants.
 * Must not: resume a process whose token differs from the promise of the guarantees.
 * Fails:    closed: on any failure before the command runs, nothing of it runs. */
#include "windows/run.h"

#include "base/auto.h"
#include "base/str.h"
#include "base/run_id.h"
#include "windows/environment.h"
#include "windows/job.h"
#include "windows/program.h"
#include "windows/quote.h"
#include "windows/relay.h"
#include "windows/spawn.h"
#include "windows/undo.h"
#include "windows/wide.h"

#include <stdio.h>
#include <stdlib.h>

#define WHERE "run"
#define NOTES_MAX 8

/* FILETIME counts 100 ns from 1601. */
#define EPOCH_OFFSET_MS INT64_C(11644473600000)
#define FILETIME_PER_MS 10000

struct run {
	struct arena *a;
	const struct run_choices *c;
	const struct facts *facts;
	struct windows_enforcement *g;
	struct windows_report *report;
	char id[RUN_ID_LENGTH + 1];
	const char *workspace, *directory, *private_dir;
	bool confined;
	struct path_grant *grants;
	size_t ngrants, grants_cap;
	struct undo undo;
	struct appcontainer container;
	const char *sid;
	struct relays relays;
	HANDLE job;
	struct spawned process;
	const char *notes[NOTES_MAX];
};

static HANDLE cancel; /* set by ^C; there is one run in a process */

static BOOL WINAPI on_control(DWORD event) {
	(void)SetEvent(cancel);
	if (event == CTRL_CLOSE_EVENT || event == CTRL_LOGOFF_EVENT ||
	    event == CTRL_SHUTDOWN_EVENT) {
		Sleep(INFINITE); /* Windows ends the process when this returns */
	}
	return TRUE;
}

static int64_t now_ms(void) {
	FILETIME now;

	GetSystemTimePreciseAsFileTime(&now);
	ULARGE_INTEGER n = {.LowPart = now.dwLowDateTime, .HighPart = now.dwHighDateTime};
	return (int64_t)(n.QuadPart / FILETIME_PER_MS) - EPOCH_OFFSET_MS;
}

static void note(struct run *r, const char *text) {
	if (r->report->nnotes < NOTES_MAX && text != NULL) {
		r->notes[r->report->nnotes++] = text;
		r->report->notes = r->notes;
	}
}

static void make_id(struct run *r) {
	LUID unique = {0};

	(void)AllocateLocallyUniqueId(&unique); /* differs from call to call until the next boot */
	r->report->started_ms = now_ms();
	run_id_text(r->report->started_ms, (uint32_t)unique.LowPart, r->id);
	r->report->id = r->id;
}

/* ---- grants ---- */

static int add_grant(struct run *r, const char *path, enum grant_access access, bool optional,
		     struct err *e) {
	const char *real;
	bool directory;

	if (program_real_path(r->a, path, &real, &directory, e) != 0) {
		return optional && e->kind == ERR_NOT_FOUND ? 0 : -1;
	}
	if (arena_grow(r->a, &r->grants, r->ngrants, &r->grants_cap, sizeof r->grants[0]) != 0) {
		return err_memory(e, WHERE);
	}
	r->grants[r->ngrants++] =
		(struct path_grant){.path = real, .directory = directory, .access = access};
	return 0;
}

static int add_list(struct run *r, enum key_id key, enum grant_access access, struct err *e) {
	const struct value *list = &r->c->values[key];

	for (size_t i = 0; i < list->count; i++) {
		if (add_grant(r, list->items[i].str, access, list->items[i].optional, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int find_paths(struct run *r, struct err *e) {
	const struct value *workspace = &r->c->values[KEY_WORKSPACE];
	const struct value *chdir = &r->c->values[KEY_CHDIR];
	bool directory;

	if (program_real_path(r->a, workspace->set ? workspace->str : ".", &r->workspace,
			      &directory, e) != 0) {
		return -1;
	}
	r->report->workspace = r->workspace;
	if (!directory) {
		return err_set(e, ERR_USAGE, WHERE, "the workspace %s is not a directory",
			       r->workspace);
	}
	if (r->c->values[KEY_ANY_WORKSPACE].num == 0 &&
	    program_check_workspace(r->a, r->workspace, e) != 0) {
		return -1;
	}
	r->directory = r->workspace;
	if (chdir->set && program_real_path(r->a, chdir->str, &r->directory, &directory, e) != 0) {
		return -1;
	}
	bool writable = r->c->values[KEY_MODE].num == MODE_WORKSPACE_WRITE;
	if (!writable && r->c->values[KEY_FS_WRITE].count > 0) {
		return err_set(e, ERR_USAGE, WHERE, "--write contradicts --mode read-only");
	}
	if (add_grant(r, r->workspace, writable ? GRANT_WRITE : GRANT_READ, false, e) != 0 ||
	    add_list(r, KEY_FS_WRITE, GRANT_WRITE, e) != 0 ||
	    add_list(r, KEY_FS_READ, GRANT_READ, e) != 0) {
		return -1;
	}
	r->ngrants = grants_reduce(r->grants, r->ngrants);
	return 0;
}

/* ---- set-up ---- */

static int make_container(struct run *r, struct err *e) {
	const char *name = arena_printf(r->a, "corral.%s", r->id);
	const struct journal_record record = {.kind = JOURNAL_PROFILE, .fields = {name}};
	auto_local LPWSTR text = NULL;

	if (name == NULL) {
		return err_memory(e, WHERE);
	}
	if (undo_note(&r->undo, &record, e) != 0 ||
	    container_create(name, r->c->values[KEY_NET_MODE].num == NET_FULL, &r->container, e) !=
		    0) {
		return -1;
	}
	if (!ConvertSidToStringSidW(r->container.sid, &text)) {
		return wide_fail(e, WHERE, "cannot read the SID of the container", "",
				 GetLastError());
	}
	r->sid = wide_narrow(r->a, text);
	return r->sid == NULL ? err_memory(e, WHERE) : 0;
}

static int make_grants(struct run *r, struct err *e) {
	const struct path_grant private = {
		.path = r->private_dir, .directory = true, .access = GRANT_WRITE};

	if (undo_grant(&r->undo, &private, r->sid, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < r->ngrants; i++) {
		if (undo_grant(&r->undo, &r->grants[i], r->sid, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int read_caller(struct arena *a, const char ***ret, struct err *e) {
	wchar_t *block = GetEnvironmentStringsW();
	const char **list = NULL;
	size_t n = 0, cap = 0;
	int rc = block == NULL ? err_memory(e, WHERE) : 0;

	for (const wchar_t *p = block; rc == 0 && *p != L'\0'; p += wcslen(p) + 1) {
		const char *entry = wide_narrow(a, p);
		if (arena_grow(a, &list, n, &cap, sizeof *list) != 0) {
			rc = err_memory(e, WHERE);
		} else if (entry != NULL) { /* an entry that is not Unicode is not passed */
			list[n++] = entry;
		}
	}
	if (rc == 0 && arena_grow(a, &list, n, &cap, sizeof *list) != 0) {
		rc = err_memory(e, WHERE);
	}
	if (rc == 0) {
		list[n] = NULL;
		*ret = list;
	}
	if (block != NULL) {
		(void)FreeEnvironmentStringsW(block);
	}
	return rc;
}

static int start(struct run *r, const struct environment *env, struct err *e) {
	struct spawn s = {.directory = r->directory,
			  .streams = r->relays.inside,
			  .job = r->job,
			  .container = r->confined ? &r->container : NULL};
	struct buf line;
	auto_free uint16_t *block = NULL;
	size_t units;

	if (program_find(r->a, r->c->argv[0], env, r->directory, &s.program, e) != 0 ||
	    environment_block(env, &block, &units, e) != 0) {
		return -1;
	}
	const char **argv = arena_array(r->a, r->c->argc, sizeof *argv);
	if (argv == NULL) {
		return err_memory(e, WHERE);
	}
	memcpy(argv, r->c->argv, r->c->argc * sizeof *argv);
	argv[0] = s.program;
	buf_init(&line);
	int rc = quote_line(argv, r->c->argc, &line, e);
	s.line = line.data;
	s.block = block;
	rc = rc != 0 ? -1 : spawn_suspended(r->a, &s, &r->process, e);
	buf_done(&line);
	return rc;
}

/* The guarantees were computed from the facts of the machine; the process has to agree. */
static int verify(struct run *r, struct err *e) {
	const struct token_facts *token = &r->process.token;
	bool network = r->c->values[KEY_NET_MODE].num == NET_FULL;

	if (!r->confined) {
		return 0;
	}
	if (!token->appcontainer || (!network && token->capabilities > 0)) {
		return err_set(e, ERR_SETUP, WHERE, "Windows started the process %s",
			       token->appcontainer ? "with capabilities"
						   : "outside of its AppContainer");
	}
	if ((r->facts->token && !token->restricted) || (r->facts->integrity && !token->low)) {
		return err_set(e, ERR_SETUP, WHERE,
			       "Windows started the process with another token");
	}
	return 0;
}

static int set_up(struct run *r, struct err *e) {
	const struct value *v = r->c->values;
	struct environment env;
	const char **caller;

	if (undo_begin(r->a, r->id, &r->undo, e) != 0 ||
	    undo_directory(&r->undo, r->id, &r->private_dir, e) != 0 ||
	    (r->confined && (make_container(r, e) != 0 || make_grants(r, e) != 0)) ||
	    read_caller(r->a, &caller, e) != 0) {
		return -1;
	}
	const struct environment_inputs in = {
		.caller = caller,
		.pass = &v[KEY_ENV_PASS],
		.set = &v[KEY_ENV_SET],
		.allow_dangerous = &v[KEY_ENV_ALLOW_DANGEROUS],
		.private_dir = r->private_dir,
		.workspace = r->workspace,
		.run_id = r->id,
		.level = r->g->level,
		.offline = v[KEY_NET_MODE].num == NET_NONE,
	};
	if (environment_make(r->a, &in, &env, e) != 0 ||
	    job_create(r->facts, r->c, &r->job, e) != 0 ||
	    relay_begin(&r->relays, r->c->json, !r->c->json || r->c->pass_stdin,
			v[KEY_LIMITS_OUTPUT].set ? v[KEY_LIMITS_OUTPUT].num : LIMIT_NONE, e) != 0) {
		return -1;
	}
	return start(r, &env, e) != 0 || verify(r, e) != 0 ? -1 : 0;
}

/* ---- the command runs ---- */

static int64_t limit_of(const struct run *r, enum key_id key) {
	const struct value *v = &r->c->values[key];
	return v->set ? v->num : LIMIT_NONE;
}

/* Milliseconds until the next deadline, and which it is. */
static DWORD next_wait(const struct run *r, ULONGLONG begin, enum windows_reason *ret) {
	int64_t now = (int64_t)GetTickCount64(), left = INT64_MAX;
	int64_t timeout = limit_of(r, KEY_LIMITS_TIMEOUT),
		idle = limit_of(r, KEY_LIMITS_IDLE_TIMEOUT);

	if (timeout != LIMIT_NONE) {
		left = (int64_t)begin + timeout - now;
		*ret = REASON_TIMED_OUT;
	}
	if (idle != LIMIT_NONE && r->relays.last_ms + idle - now < left) {
		left = r->relays.last_ms + idle - now;
		*ret = REASON_WAS_IDLE;
	}
	/* Longer waits are divided: INFINITE is a number, too. */
	return left <= 0 ? 0 : left > 0x7FFFFFFF ? 0x7FFFFFFF : (DWORD)left;
}

static enum windows_reason wait_for_end(struct run *r, ULONGLONG begin) {
	const HANDLE events[] = {r->process.process, cancel};

	for (;;) {
		enum windows_reason reason = REASON_EXITED;
		DWORD wait = next_wait(r, begin, &reason);
		switch (WaitForMultipleObjects(ARRAY_LEN(events), events, FALSE, wait)) {
		case WAIT_OBJECT_0:
			return REASON_EXITED;
		case WAIT_OBJECT_0 + 1:
			return REASON_CANCELLED_HERE;
		case WAIT_TIMEOUT:
			if (wait == 0) {
				return reason;
			}
			break; /* output may have come meanwhile */
		default:
			return REASON_CANCELLED_HERE; /* cannot wait: nothing may go on unwatched */
		}
	}
}

static int follow(struct run *r, struct err *e) {
	ULONGLONG begin = GetTickCount64();
	DWORD code = 0;

	if (relay_start(&r->relays, e) != 0) {
		return -1;
	}
	if (ResumeThread(r->process.thread) == (DWORD)-1) {
		return wide_fail(e, WHERE, "cannot resume the process", "", GetLastError());
	}
	r->report->reason = wait_for_end(r, begin);
	r->report->duration_ms = (int64_t)(GetTickCount64() - begin);
	if (r->report->reason == REASON_EXITED && GetExitCodeProcess(r->process.process, &code)) {
		r->report->exit_code = code;
	}
	return 0;
}

/* Ends every process of the run, then reads their output, then undoes the grants. */
static int finish(struct run *r, struct err *e) {
	size_t changed = 0;
	int rc = 0;

	if (r->job != NULL) {
		(void)TerminateJobObject(r->job, 1); /* closing it does the same */
		if (r->process.process != NULL) {
			(void)WaitForSingleObject(r->process.process, INFINITE);
		}
	}
	relay_end(&r->relays);
	if (r->job != NULL) {
		/* Wine counts no time. */
		r->report->cpu_ms = r->facts->wine ? -1 : job_cpu_ms(r->job);
		(void)CloseHandle(r->job);
	}
	if (r->c->json) {
		r->report->out = capture_take(&r->relays.out.capture, &r->report->out_len);
		r->report->err = capture_take(&r->relays.err.capture, &r->report->err_len);
		r->report->out_dropped = r->relays.out.capture.dropped;
		r->report->err_dropped = r->relays.err.capture.dropped;
	}
	container_done(&r->container);
	if (r->undo.file != NULL && r->undo.file != INVALID_HANDLE_VALUE) {
		rc = undo_end(&r->undo, &changed, e);
	}
	if (changed > 0) {
		note(r, "a DACL was changed by someone else during the run; Corral removed its own "
			"entries only");
	}
	return rc;
}

int run_command(struct arena *a, const struct run_choices *c, const struct facts *facts,
		struct windows_enforcement *ret_g, struct windows_report *ret, struct err *e) {
	struct run *r = arena_alloc(a, sizeof *r);
	struct err cleaning = {0};

	if (r == NULL) {
		return err_memory(e, WHERE);
	}
	r->a = a;
	r->c = c;
	r->facts = facts;
	r->g = ret_g;
	r->report = ret;
	make_id(r);
	note(r, "experimental: the authors have not run this enforcement on Windows");
	enforcement_make(facts, c, ret_g);
	r->confined = enforcement_level(facts, c) >= LEVEL_STANDARD;
	if (enforcement_check(facts, c, ret_g, e) != 0 || find_paths(r, e) != 0) {
		return -1;
	}
	cancel = CreateEventW(NULL, TRUE, FALSE, NULL);
	if (cancel == NULL || !SetConsoleCtrlHandler(on_control, TRUE)) {
		return wide_fail(e, WHERE, "cannot handle ^C", "", GetLastError());
	}
	int rc = set_up(r, e);
	rc = rc != 0 ? -1 : follow(r, e);
	if (finish(r, &cleaning) != 0) {
		note(r, arena_printf(a, "%s; run `corral.exe cleanup`", cleaning.what));
	}
	return rc;
}
