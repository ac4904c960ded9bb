/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a process that is confined before its first instruction.
 *
 * Should:   pass exactly three handles (PROC_THREAD_ATTRIBUTE_HANDLE_LIST), and look at the token
 *           that the process really has.
 * Must not: let the process run: the caller resumes it when the facts are as promised.
 * Fails:    closed: a process that is not in its job is terminated. */
#include "windows/spawn.h"

#include "base/auto.h"
#include "windows/wide.h"

#include <stdlib.h>

#define WHERE "spawn"

#ifndef PROC_THREAD_ATTRIBUTE_JOB_LIST
#define PROC_THREAD_ATTRIBUTE_JOB_LIST 0x0002000D
#endif

#define ATTRIBUTES_MAX 3

struct attributes {
	LPPROC_THREAD_ATTRIBUTE_LIST list;
	SECURITY_CAPABILITIES capabilities;
	HANDLE handles[3];
	HANDLE job;
};

static bool add(struct attributes *at, DWORD_PTR name, void *value, size_t size) {
	return UpdateProcThreadAttribute(at->list, 0, name, value, size, NULL, NULL);
}

static int make_attributes(const struct spawn *s, struct attributes *at, struct err *e) {
	SIZE_T size = 0;

	(void)InitializeProcThreadAttributeList(NULL, ATTRIBUTES_MAX, 0, &size); /* sets the size */
	at->list = calloc(1, size);
	if (at->list == NULL) {
		return err_memory(e, WHERE);
	}
	at->job = s->job;
	for (size_t i = 0; i < ARRAY_LEN(at->handles); i++) {
		at->handles[i] = s->streams[i];
	}
	if (!InitializeProcThreadAttributeList(at->list, ATTRIBUTES_MAX, 0, &size) ||
	    !add(at, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, at->handles, sizeof at->handles)) {
		return wide_fail(e, WHERE, "cannot list the handles of the process", "",
				 GetLastError());
	}
	/* Without this attribute (before Windows 10) the process joins the job afterwards. */
	(void)add(at, PROC_THREAD_ATTRIBUTE_JOB_LIST, &at->job, sizeof at->job);
	if (s->container == NULL) {
		return 0;
	}
	at->capabilities = (SECURITY_CAPABILITIES){
		.AppContainerSid = s->container->sid,
		.Capabilities =
			s->container->ncapabilities == 0 ? NULL : s->container->capabilities,
		.CapabilityCount = s->container->ncapabilities,
	};
	return add(at, PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES, &at->capabilities,
		   sizeof at->capabilities)
		       ? 0
		       : wide_fail(e, WHERE, "cannot put the process in an AppContainer", "",
				   GetLastError());
}

static int create(struct arena *a, const struct spawn *s, struct attributes *at,
		  PROCESS_INFORMATION *ret, struct err *e) {
	STARTUPINFOEXW start = {
		.StartupInfo = {.cb = sizeof start,
				.dwFlags = STARTF_USESTDHANDLES,
				.hStdInput = at->handles[0],
				.hStdOutput = at->handles[1],
				.hStdError = at->handles[2]},
		.lpAttributeList = at->list,
	};
	/* A console of its own, without a window. */
	const DWORD flags = CREATE_SUSPENDED | CREATE_NO_WINDOW | CREATE_UNICODE_ENVIRONMENT |
			    EXTENDED_STARTUPINFO_PRESENT;
	wchar_t *program = wide_text(a, s->program), *line = wide_text(a, s->line);
	wchar_t *directory = wide_text(a, s->directory);
	auto_handle token = NULL;

	if (program == NULL || line == NULL || directory == NULL) {
		return err_memory(e, WHERE);
	}
	if (token_restricted(&token, e) != 0) {
		return -1;
	}
	if (!CreateProcessAsUserW(token, program, line, NULL, NULL, TRUE, flags, s->block,
				  directory, &start.StartupInfo, ret)) {
		DWORD code = GetLastError();
		(void)wide_fail(e, WHERE, "cannot execute", s->program, code);
		e->kind = code == ERROR_BAD_EXE_FORMAT || code == ERROR_ACCESS_DENIED ? ERR_NO_EXEC
										      : ERR_SETUP;
		return -1;
	}
	return 0;
}

static int check_job(const struct spawn *s, HANDLE process, struct err *e) {
	BOOL inside = FALSE;

	if (IsProcessInJob(process, s->job, &inside) && inside) {
		return 0;
	}
	return AssignProcessToJobObject(s->job, process)
		       ? 0
		       : wide_fail(e, WHERE, "cannot put the process in its job", "",
				   GetLastError());
}

static int look(HANDLE process, struct token_facts *ret, struct err *e) {
	auto_handle token = NULL;

	if (!OpenProcessToken(process, TOKEN_QUERY, &token)) {
		return wide_fail(e, WHERE, "cannot look at the token of the process", "",
				 GetLastError());
	}
	token_look(token, ret);
	return 0;
}

int spawn_suspended(struct arena *a, const struct spawn *s, struct spawned *ret, struct err *e) {
	struct attributes at = {0};
	PROCESS_INFORMATION made = {0};
	int rc = make_attributes(s, &at, e);

	rc = rc != 0 ? -1 : create(a, s, &at, &made, e);
	if (at.list != NULL) {
		DeleteProcThreadAttributeList(at.list);
		free(at.list);
	}
	if (rc != 0) {
		return -1;
	}
	*ret = (struct spawned){.process = made.hProcess, .thread = made.hThread};
	if (check_job(s, made.hProcess, e) != 0 || look(made.hProcess, &ret->token, e) != 0) {
		(void)TerminateProcess(made.hProcess, 1); /* it never ran */
		(void)CloseHandle(made.hProcess);
		(void)CloseHandle(made.hThread);
		return -1;
	}
	return 0;
}
