/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of corral.exe run: one verb, which tries one thing and says what happened. */
#define WIN32_LEAN_AND_MEAN
#include <winsock2.h>
#include <windows.h>

#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

static void say(const char *text) {
	DWORD done;
	(void)WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), text, (DWORD)strlen(text), &done, NULL);
}

/* As hexadecimal UTF-16: no code page has a part in it. */
static void say_wide(const wchar_t *text) {
	char hex[8];
	for (; *text != 0; text++) {
		(void)snprintf(hex, sizeof hex, "%04x", (unsigned)*text);
		say(hex);
	}
	say("\n");
}

static int verb_args(int argc, wchar_t **argv) {
	for (int i = 0; i < argc; i++) {
		say_wide(argv[i]);
	}
	return 0;
}

static int verb_env(int argc, wchar_t **argv) {
	wchar_t *block = GetEnvironmentStringsW();
	(void)argc, (void)argv;
	for (const wchar_t *p = block; *p != 0; p += wcslen(p) + 1) {
		say_wide(p);
	}
	return 0;
}

static int verb_exit(int argc, wchar_t **argv) {
	ExitProcess(argc < 1 ? 0 : (UINT)wcstoul(argv[0], NULL, 0));
}

static int verb_sleep(int argc, wchar_t **argv) {
	say("sleeping\n");
	Sleep(argc < 1 ? 0 : (DWORD)wcstoul(argv[0], NULL, 0));
	return 0;
}

static BOOL start(const wchar_t *verb, wchar_t *const *rest, int n, DWORD flags,
		  PROCESS_INFORMATION *made) {
	wchar_t self[MAX_PATH], line[4096];
	STARTUPINFOW info = {.cb = sizeof info, .dwFlags = STARTF_USESTDHANDLES};
	info.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
	info.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
	info.hStdError = GetStdHandle(STD_ERROR_HANDLE);
	(void)GetModuleFileNameW(NULL, self, MAX_PATH);
	(void)swprintf(line, 4096, L"\"%ls\" %ls", self, verb);
	for (int i = 0; i < n; i++) {
		size_t at = wcslen(line);
		(void)swprintf(line + at, 4096 - at, L" %ls", rest[i]);
	}
	return CreateProcessW(self, line, NULL, NULL, TRUE, flags, NULL, NULL, &info, made);
}

/* Starts `beat FILE` and ends, or waits for it with "wait" behind. */
static int verb_orphan(int argc, wchar_t **argv) {
	PROCESS_INFORMATION made;
	if (argc < 1 || !start(L"beat", argv, 1, DETACHED_PROCESS, &made)) {
		say("refused\n");
		return 1;
	}
	while (GetFileAttributesW(argv[0]) == INVALID_FILE_ATTRIBUTES) {
		Sleep(10); /* until it beats */
	}
	say("started\n");
	if (argc > 1) {
		(void)WaitForSingleObject(made.hProcess, INFINITE);
	}
	return 0;
}

/* Writes a growing number to a file: who looks at it sees whether this process lives. */
static int verb_beat(int argc, wchar_t **argv) {
	for (unsigned n = 1; argc > 0 && n < 6000; n++) {
		HANDLE h = CreateFileW(argv[0], GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE,
				       NULL, CREATE_ALWAYS, 0, NULL);
		char text[16];
		DWORD done;
		(void)snprintf(text, sizeof text, "%u", n);
		if (h != INVALID_HANDLE_VALUE) {
			(void)WriteFile(h, text, (DWORD)strlen(text), &done, NULL);
			(void)CloseHandle(h);
		}
		Sleep(50);
	}
	return 0;
}

static int verb_spawn(int argc, wchar_t **argv) {
	PROCESS_INFORMATION made;
	wchar_t code[] = L"7";
	wchar_t *const rest[] = {code};
	DWORD status = 0;
	(void)argc, (void)argv;
	if (!start(L"exit", rest, 1, 0, &made)) {
		say("refused\n");
		return 1;
	}
	(void)WaitForSingleObject(made.hProcess, INFINITE);
	(void)GetExitCodeProcess(made.hProcess, &status);
	say(status == 7 ? "spawned\n" : "lost\n");
	return 0;
}

/* All 256 bytes on stdout, a line on stderr. */
static int verb_bytes(int argc, wchar_t **argv) {
	char all[256];
	DWORD done;
	(void)argc, (void)argv;
	for (int i = 0; i < 256; i++) {
		all[i] = (char)i;
	}
	(void)WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), all, sizeof all, &done, NULL);
	(void)WriteFile(GetStdHandle(STD_ERROR_HANDLE), "to stderr\n", 10, &done, NULL);
	return 0;
}

static int verb_flood(int argc, wchar_t **argv) {
	static char chunk[1000];
	DWORD done;
	memset(chunk, 'x', sizeof chunk);
	for (unsigned long n = argc < 1 ? 0 : wcstoul(argv[0], NULL, 0); n > 0; n--) {
		(void)WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), chunk, sizeof chunk, &done, NULL);
	}
	return 0;
}

static int verb_cat(int argc, wchar_t **argv) {
	char chunk[4096];
	DWORD got, done;
	(void)argc, (void)argv;
	while (ReadFile(GetStdHandle(STD_INPUT_HANDLE), chunk, sizeof chunk, &got, NULL) &&
	       got > 0) {
		(void)WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), chunk, got, &done, NULL);
	}
	say("end of input\n");
	return 0;
}

/* Runs the line behind FILE with an inheritable handle of FILE; HANDLE in it becomes its number. */
static int verb_lend(int argc, wchar_t **argv) {
	SECURITY_ATTRIBUTES inherit = {.nLength = sizeof inherit, .bInheritHandle = TRUE};
	STARTUPINFOW info = {.cb = sizeof info, .dwFlags = STARTF_USESTDHANDLES};
	PROCESS_INFORMATION made;
	wchar_t line[4096] = L"";
	DWORD status = 1;
	HANDLE h = argc < 2 ? INVALID_HANDLE_VALUE
			    : CreateFileW(argv[0], GENERIC_READ | GENERIC_WRITE, 7, &inherit,
					  OPEN_ALWAYS, 0, NULL);
	info.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
	info.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
	info.hStdError = GetStdHandle(STD_ERROR_HANDLE);
	for (int i = 1; i < argc; i++) {
		size_t at = wcslen(line);
		if (wcscmp(argv[i], L"HANDLE") == 0) {
			(void)swprintf(line + at, 4096 - at, L"%llu ",
				       (unsigned long long)(ULONG_PTR)h);
		} else {
			(void)swprintf(line + at, 4096 - at, L"\"%ls\" ", argv[i]);
		}
	}
	if (h == INVALID_HANDLE_VALUE ||
	    !CreateProcessW(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &info, &made)) {
		say("lend failed\n");
		return 1;
	}
	(void)WaitForSingleObject(made.hProcess, INFINITE);
	(void)GetExitCodeProcess(made.hProcess, &status);
	return (int)status;
}

/* Writes through a handle that it may have inherited. */
static int verb_borrow(int argc, wchar_t **argv) {
	HANDLE h = argc < 1 ? NULL : (HANDLE)(ULONG_PTR)wcstoull(argv[0], NULL, 10);
	DWORD done = 0;
	BOOL wrote = GetFileType(h) == FILE_TYPE_DISK && WriteFile(h, "borrowed", 8, &done, NULL);
	say(wrote ? "written\n" : "no handle\n");
	return 0;
}

/* ---- for a real machine: each says "allowed" or "denied ERROR" ---- */

static int verdict(BOOL allowed) {
	char text[64];
	(void)snprintf(text, sizeof text, allowed ? "allowed\n" : "denied %lu\n", GetLastError());
	say(text);
	return 0;
}

static int verb_read(int argc, wchar_t **argv) {
	HANDLE h = argc < 1 ? INVALID_HANDLE_VALUE
			    : CreateFileW(argv[0], GENERIC_READ, 7, NULL, OPEN_EXISTING,
					  FILE_FLAG_BACKUP_SEMANTICS, NULL);
	return verdict(h != INVALID_HANDLE_VALUE);
}

static int verb_write(int argc, wchar_t **argv) {
	HANDLE h = argc < 1 ? INVALID_HANDLE_VALUE
			    : CreateFileW(argv[0], GENERIC_WRITE, 7, NULL, OPEN_ALWAYS, 0, NULL);
	DWORD done;
	return verdict(h != INVALID_HANDLE_VALUE && WriteFile(h, "changed", 7, &done, NULL));
}

static int verb_rename(int argc, wchar_t **argv) {
	return verdict(argc > 1 && MoveFileExW(argv[0], argv[1], MOVEFILE_REPLACE_EXISTING));
}

static int verb_dacl(int argc, wchar_t **argv) {
	HANDLE h = argc < 1 ? INVALID_HANDLE_VALUE
			    : CreateFileW(argv[0], WRITE_DAC, 7, NULL, OPEN_EXISTING,
					  FILE_FLAG_BACKUP_SEMANTICS, NULL);
	return verdict(h != INVALID_HANDLE_VALUE);
}

static int verb_open_process(int argc, wchar_t **argv) {
	return verdict(argc > 0 && OpenProcess(PROCESS_VM_READ | PROCESS_TERMINATE, FALSE,
					       wcstoul(argv[0], NULL, 10)) != NULL);
}

static int verb_clipboard(int argc, wchar_t **argv) {
	(void)argc, (void)argv;
	return verdict(OpenClipboard(NULL) && EmptyClipboard());
}

static int verb_memory(int argc, wchar_t **argv) {
	size_t mib = argc < 1 ? 0 : wcstoul(argv[0], NULL, 10);
	return verdict(VirtualAlloc(NULL, mib << 20, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE) !=
		       NULL);
}

static int verb_breakaway(int argc, wchar_t **argv) {
	PROCESS_INFORMATION made;
	wchar_t code[] = L"0";
	wchar_t *const rest[] = {code};
	(void)argc, (void)argv;
	return verdict(start(L"exit", rest, 1, CREATE_BREAKAWAY_FROM_JOB, &made));
}

/* connect ADDRESS PORT; the library is loaded only here. */
static int verb_connect(int argc, wchar_t **argv) {
	HMODULE library = LoadLibraryW(L"ws2_32.dll");
	typedef int(WSAAPI * begin_fn)(WORD, WSADATA *);
	typedef SOCKET(WSAAPI * socket_fn)(int, int, int);
	typedef int(WSAAPI * connect_fn)(SOCKET, const struct sockaddr *, int);
	union {
		FARPROC any;
		begin_fn begin;
		socket_fn socket;
		connect_fn connect;
	} a = {GetProcAddress(library, "WSAStartup")}, b = {GetProcAddress(library, "socket")},
	  c = {GetProcAddress(library, "connect")};
	unsigned x[4] = {0};
	WSADATA data;
	struct sockaddr_in to = {.sin_family = AF_INET};
	if (argc < 2 || a.begin(0x202, &data) != 0 ||
	    swscanf(argv[0], L"%u.%u.%u.%u", &x[0], &x[1], &x[2], &x[3]) != 4) {
		return 2;
	}
	unsigned port = (unsigned)wcstoul(argv[1], NULL, 10);
	to.sin_addr.s_addr = x[0] | x[1] << 8 | x[2] << 16 | x[3] << 24;
	to.sin_port = (u_short)((port & 0xFF) << 8 | port >> 8);
	return verdict(c.connect(b.socket(AF_INET, SOCK_STREAM, 0), (const struct sockaddr *)&to,
				 sizeof to) == 0);
}

static const struct {
	const wchar_t *name;
	int (*run)(int argc, wchar_t **argv);
} verbs[] = {
	{L"args", verb_args},
	{L"beat", verb_beat},
	{L"borrow", verb_borrow},
	{L"breakaway", verb_breakaway},
	{L"bytes", verb_bytes},
	{L"cat", verb_cat},
	{L"clipboard", verb_clipboard},
	{L"connect", verb_connect},
	{L"dacl", verb_dacl},
	{L"env", verb_env},
	{L"exit", verb_exit},
	{L"flood", verb_flood},
	{L"lend", verb_lend},
	{L"memory", verb_memory},
	{L"open-process", verb_open_process},
	{L"orphan", verb_orphan},
	{L"read", verb_read},
	{L"rename", verb_rename},
	{L"sleep", verb_sleep},
	{L"spawn", verb_spawn},
	{L"write", verb_write},
};

int wmain(int argc, wchar_t **argv);

int wmain(int argc, wchar_t **argv) {
	for (size_t i = 0; argc > 1 && i < sizeof verbs / sizeof verbs[0]; i++) {
		if (wcscmp(verbs[i].name, argv[1]) == 0) {
			return verbs[i].run(argc - 2, argv + 2);
		}
	}
	return 2;
}
