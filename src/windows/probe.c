/* SPDX-License-Identifier: Apache-2.0 */
/* Tries out the mechanisms of this machine.
 *
 * Should:   try each mechanism and look at its effect.
 * Must not: believe a return value under wine, which accepts calls that do nothing.
 * Fails:    closed: a mechanism that was not seen to work is absent. */
#include "windows/probe.h"

#include "windows/container.h"
#include "windows/job.h"
#include "windows/token.h"
#include "windows/wide.h"

/* RtlGetVersion() returns the real version to programs without a manifest, too. */
typedef LONG(WINAPI *version_fn)(OSVERSIONINFOW *);
typedef const char *(*wine_fn)(void);

union function {
	FARPROC any; /* GetProcAddress() returns one type for all functions */
	version_fn version;
	wine_fn wine;
};

static union function find(HMODULE library, const char *name) {
	return (union function){.any = GetProcAddress(library, name)};
}

static void probe_version(struct arena *a, struct facts *ret) {
	HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
	wine_fn wine = find(ntdll, "wine_get_version").wine;
	version_fn version = find(ntdll, "RtlGetVersion").version;
	OSVERSIONINFOW info = {.dwOSVersionInfoSize = sizeof info};

	ret->wine = wine != NULL;
	if (version == NULL || version(&info) != 0) {
		ret->version = "unknown";
	} else {
		ret->version =
			arena_printf(a, "%s%s%sWindows %u.%u.%u", wine == NULL ? "" : "wine ",
				     wine == NULL ? "" : wine(), wine == NULL ? "" : " as ",
				     (unsigned)info.dwMajorVersion, (unsigned)info.dwMinorVersion,
				     (unsigned)info.dwBuildNumber);
	}
}

static void probe_token(struct facts *ret) {
	auto_handle token = NULL;
	struct token_facts seen;
	struct err unused;

	if (token_restricted(&token, &unused) != 0) {
		return;
	}
	token_look(token, &seen);
	ret->token = seen.restricted && !ret->wine;
	ret->integrity = seen.low && !ret->wine;
}

void probe_facts(struct arena *a, struct facts *ret) {
	*ret = (struct facts){0};
	probe_version(a, ret);
	probe_token(ret);
	job_probe(ret->wine, ret);
	ret->appcontainer = container_probe(&ret->appcontainer_why);
	if (ret->appcontainer && ret->wine) {
		ret->appcontainer = false;
		ret->appcontainer_why = "wine does not confine AppContainers";
	}
}
