/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the processes, threads and memory of a run from /proc.
 *
 * Should:   find every process of the run in one pass over /proc.
 * Must not: block: stat and statm take no lock that a process could hold for long.
 *           smaps_rollup does (mmap_lock), so its caller sets a timer.
 * Fails:    closed: returns false when a sample could not be taken. */
#include "linux/census.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/dirent64.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's PID_MAX_LIMIT, and one bit for each number. */
#define PIDS_MAX 4194304
#define BITMAP_SIZE ((size_t)PIDS_MAX / 8)

/* Processes of the run and new foreign ones; the kernel allocates pages on first use. */
#define ROWS_MAX ((size_t)65536)

/* Within this time the kernel does not reuse a pid, unless all others were used. */
#define FOREIGN_MS 1000

/* ---- text ---- */

static const char *skip_spaces(const char *at) {
	while (*at == ' ') {
		at++;
	}
	return at;
}

static bool read_number(const char **at, uint64_t *ret) {
	const char *p = skip_spaces(*at);
	uint64_t n = 0;

	if (*p < '0' || *p > '9') {
		return false;
	}
	for (; *p >= '0' && *p <= '9'; p++) {
		n = n * 10 + (uint64_t)(*p - '0');
	}
	*ret = n;
	*at = p;
	return true;
}

/* Field numbers after the state, which is the first field after the name. */
enum field { FIELD_PARENT = 1, FIELD_THREADS = 17, FIELD_RESIDENT = 21 };

bool census_parse(const char *text, struct census_row *ret) {
	const char *at = strrchr(text, ')'); /* the name may contain any byte */
	struct census_row row = {.pid = ret->pid};

	if (at == NULL || at[1] != ' ' || at[2] == '\0') {
		return false;
	}
	row.state = at[2];
	at += 3;
	for (int field = FIELD_PARENT; field <= FIELD_RESIDENT; field++) {
		uint64_t n = 0;
		at = skip_spaces(at);
		at += *at == '-'; /* a priority may be negative; it is not used */
		if (!read_number(&at, &n)) {
			return false;
		}
		row.parent = field == FIELD_PARENT ? (pid_t)n : row.parent;
		row.threads = field == FIELD_THREADS ? (uint32_t)n : row.threads;
		row.pages = field == FIELD_RESIDENT ? n : row.pages;
	}
	*ret = row;
	return true;
}

/* The number in a line "name:   12 kB". */
static bool line_value(const char *text, const char *name, uint64_t *ret) {
	const char *at = strstr(text, name);

	if (at == NULL) {
		return false;
	}
	at += strlen(name);
	return read_number(&at, ret);
}

bool census_parse_share(const char *text, uint64_t *ret) {
	uint64_t anonymous = 0, shared = 0, swap = 0;

	/* Before Linux 5.3 there is only Pss, which includes mapped files. */
	if (!line_value(text, "\nPss_Anon:", &anonymous) &&
	    !line_value(text, "\nPss:", &anonymous)) {
		return false;
	}
	(void)line_value(text, "\nPss_Shmem:", &shared); /* 0 without */
	(void)line_value(text, "\nSwapPss:", &swap);     /* 0 without */
	*ret = (anonymous + shared + swap) * 1024;
	return true;
}

/* ---- files of a process ---- */

/* pid + "/" + file */
static void name_file(char *out, pid_t pid, const char *file) {
	char digits[12];
	size_t n = 0, at = 0;

	do {
		digits[n++] = (char)('0' + pid % 10);
		pid /= 10;
	} while (pid > 0);
	while (n > 0) {
		out[at++] = digits[--n];
	}
	out[at++] = '/';
	memcpy(out + at, file, strlen(file) + 1);
}

/* The first bytes of /proc/PID/file, as a string; the length, or -1 with errno. */
static ssize_t read_file(const struct census *c, pid_t pid, const char *file, char *out,
			 size_t cap) {
	char name[48];

	name_file(name, pid, file);
	auto_fd fd = openat(c->proc, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, cap - 1);
	out[n > 0 ? n : 0] = '\0';
	return n;
}

/* The pid of an entry; 0 for the other entries of /proc. */
static pid_t entry_pid(const char *entry) {
	const char *at = dirent64_name(entry);
	uint64_t n = 0;

	return read_number(&at, &n) && *at == '\0' && n < PIDS_MAX ? (pid_t)n : 0;
}

/* A live thread of a process with an ended first thread: /proc shows the memory under the
 * thread's number, not under the process's. */
static pid_t live_thread(const struct census *c, pid_t pid) {
	char name[48], space[1024];
	long n;

	name_file(name, pid, "task");
	auto_fd dir = openat(c->proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, space, sizeof space)) > 0) {
		for (long at = 0; at < n; at += dirent64_length(space + at)) {
			pid_t thread = entry_pid(space + at);
			if (thread > 0 && thread != pid) {
				return thread;
			}
		}
	}
	return pid;
}

static bool hides_memory(const struct census_row *row) {
	return (row->state == 'Z' || row->state == 'X') && row->threads > 1;
}

static bool read_row(const struct census *c, pid_t pid, struct census_row *ret) {
	char text[512];

	ret->pid = pid;
	if (read_file(c, pid, "stat", text, sizeof text) <= 0 || !census_parse(text, ret)) {
		return false; /* it has ended */
	}
	if (hides_memory(ret)) {
		struct census_row thread = {.pid = live_thread(c, pid)};
		if (read_file(c, thread.pid, "stat", text, sizeof text) > 0 &&
		    census_parse(text, &thread)) {
			ret->pages = thread.pages;
		}
	}
	return true;
}

/* ---- membership ---- */

static bool bit(const uint64_t *map, pid_t pid) {
	return pid > 0 && pid < PIDS_MAX && (map[pid / 64] >> (pid % 64) & 1) != 0;
}

static void bit_set(uint64_t *map, pid_t pid) {
	map[pid / 64] |= (uint64_t)1 << (pid % 64);
}

static void bit_clear(uint64_t *map, pid_t pid) {
	map[pid / 64] &= ~((uint64_t)1 << (pid % 64));
}

static void *map_pages(size_t size) {
	void *place = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return place == MAP_FAILED ? NULL : place;
}

bool census_init(struct census *c, pid_t root, uint64_t page) {
	*c = (struct census){.root = root, .page = page};
	c->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	c->foreign = map_pages(BITMAP_SIZE);
	c->ours = map_pages(BITMAP_SIZE);
	c->rows = map_pages(ROWS_MAX * sizeof *c->rows);
	return c->proc >= 0 && c->foreign != NULL && c->ours != NULL && c->rows != NULL;
}

void census_done(struct census *c) {
	void *const maps[] = {c->foreign, c->ours, c->rows};
	const size_t sizes[] = {BITMAP_SIZE, BITMAP_SIZE, ROWS_MAX * sizeof *c->rows};

	for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
		if (maps[i] != NULL) {
			(void)munmap(maps[i], sizes[i]); /* cannot fail for a mapping of our own */
		}
	}
	drop_fd(&c->proc);
	*c = (struct census){.proc = -1};
}

static void forget_foreign(struct census *c) {
	if (clock_ms() >= c->refresh_at) {
		/* Cannot fail for a mapping of our own; stale bits would hide a process. */
		(void)syscall(SYS_madvise, c->foreign, BITMAP_SIZE, MADV_DONTNEED);
		c->refresh_at = clock_ms() + FOREIGN_MS;
	}
}

/* Most parents have a lower pid than their children, and are listed first.  Returns its threads, 0
 * if settle_pass() has to decide. */
static uint64_t settle_row(struct census *c, struct census_row *row) {
	row->ours = row->pid == c->root || bit(c->ours, row->parent);
	if (!row->ours) {
		return 0;
	}
	bit_set(c->ours, row->pid);
	return row->threads;
}

static bool list(struct census *c) {
	char space[8192];
	uint64_t threads = 0;
	long n;

	c->count = 0;
	if (syscall(SYS_lseek, c->proc, 0L, SEEK_SET) != 0) {
		return false;
	}
	while ((n = syscall(SYS_getdents64, c->proc, space, sizeof space)) > 0) {
		for (long at = 0; at < n; at += dirent64_length(space + at)) {
			pid_t pid = entry_pid(space + at);
			if (pid > 0 && !bit(c->foreign, pid) && c->count < ROWS_MAX &&
			    read_row(c, pid, &c->rows[c->count])) {
				threads += settle_row(c, &c->rows[c->count]);
				c->count++;
			}
			if (c->enough != 0 && threads > c->enough) {
				return true;
			}
		}
	}
	return n == 0;
}

/* One pass; true if it classified a process.  If a parent ended during the scan, the process
 * stays unclassified until the next sample. */
static bool settle_pass(struct census *c) {
	bool found = false;

	for (size_t i = 0; i < c->count; i++) {
		struct census_row *row = &c->rows[i];
		if (row->ours || bit(c->foreign, row->pid)) {
			continue;
		}
		if (row->pid == c->root || bit(c->ours, row->parent)) {
			row->ours = true;
			bit_set(c->ours, row->pid);
			found = true;
		} else if (row->parent == 0 || bit(c->foreign, row->parent)) {
			bit_set(c->foreign, row->pid);
			found = true;
		}
	}
	return found;
}

bool census_take(struct census *c, struct census_sum *ret) {
	struct census_sum sum = {0};
	bool root = false;

	forget_foreign(c);
	/* First: a root that is not dumpable is not listed where /proc hides such processes. */
	bit_set(c->ours, c->root);
	bool listed = list(c);
	/* A child mostly has a higher pid than its parent, so two passes are usual. */
	while (settle_pass(c)) {
	}
	bit_clear(c->ours, c->root);
	for (size_t i = 0; i < c->count; i++) {
		const struct census_row *row = &c->rows[i];
		if (row->ours) {
			sum.pages += row->pages;
			sum.threads += row->threads;
			root = root || row->pid == c->root;
			bit_clear(c->ours, row->pid);
		}
	}
	*ret = sum;
	return listed && (root || (c->enough != 0 && sum.threads > c->enough));
}

/* One pass; true if it marked a process. */
static bool mark_pass(struct census *c) {
	bool found = false;

	for (size_t i = 0; i < c->count; i++) {
		struct census_row *row = &c->rows[i];
		if (!row->beneath && bit(c->ours, row->parent)) {
			row->beneath = true;
			bit_set(c->ours, row->pid);
			found = true;
		}
	}
	return found;
}

void census_mark_beneath(struct census *c, const pid_t *tops, size_t n) {
	for (size_t i = 0; i < n; i++) {
		bit_set(c->ours, tops[i]);
	}
	while (mark_pass(c)) {
	}
	for (size_t i = 0; i < n; i++) {
		bit_clear(c->ours, tops[i]);
	}
	for (size_t i = 0; i < c->count; i++) {
		if (c->rows[i].beneath) {
			bit_clear(c->ours, c->rows[i].pid);
		}
	}
}

/* ---- one process ---- */

pid_t census_parse_inner(const char *text) {
	const char *at = strstr(text, "\nNSpid:\t");
	uint64_t pid = 0;

	at = at == NULL ? "" : at + strlen("\nNSpid:\t");
	while (read_number(&at, &pid)) {
		at += *at == '\t';
	}
	return pid < PIDS_MAX ? (pid_t)pid : 0;
}

pid_t census_inner_pid(const struct census *c, const struct census_row *row) {
	char text[8192]; /* behind the line of groups, of which there may be hundreds */

	return read_file(c, row->pid, "status", text, sizeof text) <= 0 ? 0
									: census_parse_inner(text);
}

bool census_is_same(const struct census *c, const struct census_row *row) {
	struct census_row now;

	return read_row(c, row->pid, &now) && now.parent == row->parent;
}

/* ---- the memory of one process ---- */

static pid_t memory_of(const struct census *c, const struct census_row *row) {
	return hides_memory(row) ? live_thread(c, row->pid) : row->pid;
}

uint64_t census_private(const struct census *c, const struct census_row *row) {
	uint64_t size = 0, resident = 0, shared = 0;
	char text[128];
	const char *at = text;

	if (read_file(c, memory_of(c, row), "statm", text, sizeof text) <= 0 ||
	    !read_number(&at, &size) || !read_number(&at, &resident) ||
	    !read_number(&at, &shared)) {
		return 0; /* it has ended */
	}
	return resident > shared ? resident - shared : 0;
}

uint64_t census_share(const struct census *c, const struct census_row *row) {
	char text[2048];
	uint64_t share = 0;

	errno = 0;
	if (read_file(c, memory_of(c, row), "smaps_rollup", text, sizeof text) > 0 &&
	    census_parse_share(text, &share)) {
		return share;
	}
	/* ESRCH, or an empty file: it has ended. */
	return errno == EACCES || errno == EPERM ? row->pages * c->page : 0;
}
