/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of the file tools: on a small world of mounts, and against somebody who
 * swaps directories and links under it.
 *
 * In each race one thread asks for something that is allowed, and another swaps it for
 * something that is not.  A race counts only when both answers were seen; its control
 * is a tool that looks at the name first and then opens it, and that has to lose. */
#include "test.h"

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/rights.h"
#include "base/str.h"
#include "files/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 2000
#define LONGEST 10.0   /* seconds; a loaded machine does fewer rounds */
#define PATIENCE 120.0 /* seconds until both sides have won once, on one processor too */

/* ---- a view of two trees ---- */

/* top/ws at /ws, writable, with /ws/kept read-only and /ws/secret hidden; /run/own is
 * private to a run, /made a file of ours, /to a link of ours. */
struct scene {
	char top[64], ws[80], kept[96], cwd[PATH_MAX];
	struct mount mounts[6];
	struct plan plan;
	struct policy policy;
	struct lens lens;
};

static void put(const char *path, const char *text) {
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		abort();
	}
	close(fd);
}

/* The tests work in top/ws, with names that are relative to it. */
static void scene_make(struct scene *s) {
	(void)snprintf(s->top, sizeof s->top, "/var/tmp/corral-walk-XXXXXX");
	if (mkdtemp(s->top) == NULL || getcwd(s->cwd, sizeof s->cwd) == NULL ||
	    chdir(s->top) != 0) {
		abort();
	}
	static const char *const dirs[] = {"ws",       "out",       "ws/dir",
					   "ws/other", "ws/secret", "ws/kept"};
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		(void)!mkdir(dirs[i], 0755);
	}
	put("ws/file", "text");
	put("ws/dir/file", "text");
	put("ws/other/file", "other");
	put("ws/secret/file", "SECRET");
	put("ws/kept/file", "kept");
	put("out/file", "SECRET");
	if (chdir("ws") != 0) {
		abort();
	}
	(void)snprintf(s->ws, sizeof s->ws, "%s/ws", s->top);
	(void)snprintf(s->kept, sizeof s->kept, "%s/ws/kept", s->top);
}

static void scene_init(struct scene *s, bool fast) {
	*s = (struct scene){.lens = {.fast = fast}};
	scene_make(s);
	const struct mount mounts[] = {
		{.kind = MOUNT_FILE,
		 .target = "/made",
		 .text = "made up",
		 .is_file = true,
		 .note = "made up"},
		{.kind = MOUNT_PRIVATE, .target = "/run/own", .writable = true, .note = "private"},
		{.kind = MOUNT_LINK, .target = "/to", .text = "ws/dir", .note = "skeleton"},
		{.kind = MOUNT_BIND,
		 .target = "/ws",
		 .source = s->ws,
		 .writable = true,
		 .note = "workspace"},
		{.kind = MOUNT_BIND, .target = "/ws/kept", .source = s->kept, .note = "fs.protect"},
		{.kind = MOUNT_MASK_DIR, .target = "/ws/secret", .note = "fs.deny"},
	};
	memcpy(s->mounts, mounts, sizeof mounts);
	s->policy.values[KEY_MODE].num = MODE_WORKSPACE_WRITE;
	s->policy.values[KEY_LIMITS_FILE_SIZE].num = LIMIT_NONE;
	s->plan = (struct plan){
		.engine = ENGINE_NAMESPACES,
		.mounts = s->mounts,
		.nmounts = ARRAY_LEN(mounts),
		.cwd = "/ws",
		.workspace_at = "/ws",
		.home_at = "/home/nobody",
	};
	s->lens.plan = &s->plan;
	s->lens.policy = &s->policy;
}

static void scene_done(struct scene *s) {
	(void)!chdir(s->cwd);
	pid_t child = fork();
	if (child == 0) {
		execl("/bin/rm", "rm", "-rf", s->top, (char *)NULL);
		_exit(127);
	}
	(void)!waitpid(child, NULL, 0);
}

/* "text" of a read; its error's kind otherwise. */
static enum err_kind reads(const struct lens *v, const char *path, char text[64]) {
	struct err e = {0};
	struct buf out;
	uint64_t size;

	buf_init(&out);
	int rc = tool_read(v, path, (struct range){0}, &out, &size, &e);
	(void)snprintf(text, 64, "%s", rc == 0 ? out.data : "");
	buf_done(&out);
	return rc == 0 ? ERR_NONE : e.kind;
}

static void check_walk(const struct scene *s) {
	static const struct {
		const char *path, *text;
		enum err_kind kind;
	} rows[] = {
		{"file", "text", ERR_NONE},
		{"/ws/dir/file", "text", ERR_NONE},
		{"/to/file", "text", ERR_NONE},
		{"/to/../file", "text", ERR_NONE}, /* above what the link leads to */
		{"/made", "made up", ERR_NONE},
		{"/../../ws/file", "text", ERR_NONE},
		{"kept/file", "kept", ERR_NONE},
		{"kept/../dir/../file", "text", ERR_NONE},
		{"secret/../file", "text", ERR_NONE},
		{"secret/x/../../file", "", ERR_SENSITIVE},
		{"secret/file", "", ERR_SENSITIVE},
		{"up", "", ERR_OUTSIDE},
		{"over", "text", ERR_NONE},
		{"host", "", ERR_OUTSIDE},
		{"/run/own/x", "", ERR_OUTSIDE},
		{"/run/x", "", ERR_OUTSIDE},
		{"/made/x", "", ERR_FILE},
		{"/made/", "", ERR_FILE},
		{"/", "", ERR_FILE_KIND},
		{"/run", "", ERR_FILE_KIND},
	};
	char text[64];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		enum err_kind kind = reads(&s->lens, rows[i].path, text);
		if (kind != rows[i].kind || strcmp(text, rows[i].text) != 0) {
			printf("# %s: kind %d \"%s\"\n", rows[i].path, (int)kind, text);
			test_failed = true;
		}
	}
}

TEST(a_path_is_walked_through_the_mounts) {
	for (int fast = 0; fast < 2; fast++) {
		struct scene s;
		char host[128];
		scene_init(&s, fast == 1);
		(void)snprintf(host, sizeof host, "%s/ws/file", s.top);
		REQUIRE(symlink("../out/file", "up") == 0);
		REQUIRE(symlink("/ws/dir/../file", "over") == 0);
		REQUIRE(symlink(host, "host") == 0);
		check_walk(&s);
		scene_done(&s);
	}
}

/* A tree may ask for more work than its size: forty links of a thousand ".." each. */
TEST(a_path_that_goes_up_and_down_for_ever_ends) {
	struct scene s;
	char text[64], words[4000] = "";
	struct timespec begin, end;

	scene_init(&s, false);
	for (size_t n = 0; n + 8 < sizeof words; n += 7) {
		(void)snprintf(words + n, 8, "dir/../");
	}
	for (int i = 0; i < 30; i++) {
		char name[16], more[sizeof words + 16];
		(void)snprintf(name, sizeof name, "way%d", i);
		(void)snprintf(more, sizeof more, "%sway%d", words, i + 1);
		REQUIRE(symlink(more, name) == 0);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	CHECK_INT(reads(&s.lens, "way0", text), ERR_FILE);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	CHECK(end.tv_sec - begin.tv_sec < 5);
	scene_done(&s);
}

TEST(beneath_means_beneath_both_ways) {
	struct scene s;
	scene_init(&s, true);
	REQUIRE(symlink("dir", "link") == 0);
	auto_fd dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	static const struct {
		const char *path;
		int flags, error;
	} rows[] = {
		{"dir/file", 0, 0},      {"", O_DIRECTORY, 0},
		{"dir/", 0, 0},          {"link", 0, ELOOP},
		{"link/file", 0, ELOOP}, {"link", O_DIRECTORY, ELOOP},
		{"none", 0, ENOENT},     {"file/x", 0, ENOTDIR},
		{"../out", 0, EXDEV},    {"file", O_DIRECTORY, ENOTDIR},
	};
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		const char *path = rows[i / 2].path;
		auto_fd fd = beneath_open(dir, path, rows[i / 2].flags, i % 2 == 0);
		int error = fd < 0 ? errno : 0;
		if (error != rows[i / 2].error) {
			printf("# %s (%s): %s\n", path, i % 2 == 0 ? "openat2" : "by name",
			       strerror(error));
			test_failed = true;
		}
	}
	scene_done(&s);
}

/* ---- races ---- */

static atomic_bool over;

/* "way" is a directory and a link out, by turns. */
static void *swap_link(void *arg) {
	(void)arg;
	while (!atomic_load(&over)) {
		(void)!rename("way", "aside");
		(void)!symlink("../out", "way");
		sched_yield();
		(void)!unlink("way");
		(void)!rename("aside", "way");
		sched_yield();
	}
	return NULL;
}

/* "dir/in" is here and, as a directory that was moved while it was walked, in what is
 * hidden; nothing inside could do that, and the host can. */
static void *swap_place(void *arg) {
	(void)arg;
	while (!atomic_load(&over)) {
		(void)!rename("way", "secret/way");
		sched_yield();
		(void)!rename("secret/way", "way");
		sched_yield();
	}
	return NULL;
}

/* "way/file" is a file and a link to a secret by turns. */
static void *swap_last(void *arg) {
	(void)arg;
	while (!atomic_load(&over)) {
		(void)!symlink("../../out/file", "way/next");
		(void)!rename("way/next", "way/file");
		sched_yield();
		(void)!link("file", "way/next");
		(void)!rename("way/next", "way/file");
		sched_yield();
	}
	return NULL;
}

struct tally {
	long done, refused, broken;
};

typedef bool attempt(const struct scene *s, bool *ret_broken);

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct tally race(const struct scene *s, void *(*swapper)(void *), attempt *once) {
	struct tally t = {0};
	pthread_t thread;
	double begin = seconds();

	(void)!mkdir("way", 0755);
	put("way/file", "text");
	atomic_store(&over, false);
	if (pthread_create(&thread, NULL, swapper, NULL) != 0) {
		abort();
	}
	while ((t.done + t.refused < ROUNDS && seconds() < begin + LONGEST) ||
	       ((t.done == 0 || t.refused == 0) && seconds() < begin + PATIENCE)) {
		bool broken = false;
		bool done = once(s, &broken);
		t.done += done;
		t.refused += !done;
		t.broken += broken;
	}
	atomic_store(&over, true);
	(void)pthread_join(thread, NULL);
	printf("# %ld done, %ld refused, %ld broken\n", t.done, t.refused, t.broken);
	return t;
}

static bool read_way(const struct scene *s, bool *ret_broken) {
	char text[64];
	bool done = reads(&s->lens, "way/file", text) == ERR_NONE;
	*ret_broken = streq(text, "SECRET");
	return done;
}

static bool write_way(const struct scene *s, bool *ret_broken) {
	struct err e = {0};
	bool done = tool_write(&s->lens, "way/file", (struct bytes){"text", 4}, 0, &e) == 0;
	char text[16] = "";
	auto_fd fd = open("../out/file", O_RDONLY | O_CLOEXEC);
	(void)!read(fd, text, sizeof text - 1);
	*ret_broken = !streq(text, "SECRET");
	return done;
}

static bool make_way(const struct scene *s, bool *ret_broken) {
	struct err e = {0};
	bool done = tool_write(&s->lens, "way/sub/new", (struct bytes){"new", 3}, WRITE_PARENTS,
			       &e) == 0;
	*ret_broken = access("../out/sub", F_OK) == 0;
	(void)!unlink("way/sub/new");
	(void)!rmdir("way/sub");
	return done;
}

/* The control: what the name leads to is looked at, and then the name is opened. */
static bool look_and_read(const struct scene *s, bool *ret_broken) {
	char real[PATH_MAX], text[64] = "";
	if (realpath("way/file", real) == NULL || !path_within(real, s->ws)) {
		return false;
	}
	auto_fd fd = open("way/file", O_RDONLY | O_CLOEXEC);
	(void)!read(fd, text, sizeof text - 1);
	*ret_broken = streq(text, "SECRET");
	return fd >= 0;
}

static void hold_both_ways(void *(*swapper)(void *), attempt *once) {
	for (int fast = 0; fast < 2; fast++) {
		struct scene s;
		scene_init(&s, fast == 1);
		struct tally t = race(&s, swapper, once);
		CHECK(t.done > 0);
		CHECK(t.refused > 0);
		CHECK_INT(t.broken, 0);
		scene_done(&s);
	}
}

TEST(a_directory_that_becomes_a_link_is_not_read_through) {
	hold_both_ways(swap_link, read_way);
}

TEST(a_directory_that_becomes_a_link_is_not_written_through) {
	hold_both_ways(swap_link, write_way);
}

TEST(no_directory_is_made_through_a_link) {
	hold_both_ways(swap_link, make_way);
}

TEST(a_directory_that_is_moved_behind_a_mask_is_not_read) {
	hold_both_ways(swap_place, read_way);
}

TEST(a_file_that_becomes_a_link_is_not_read_through) {
	hold_both_ways(swap_last, read_way);
}

TEST(a_file_that_becomes_a_link_is_not_written_through) {
	hold_both_ways(swap_last, write_way);
}

TEST(a_tool_that_looks_first_and_opens_then_would_lose) {
	struct scene s;
	scene_init(&s, true);
	struct tally t = {0};
	double end = seconds() + PATIENCE;
	while (t.broken == 0 && seconds() < end) {
		t = race(&s, swap_link, look_and_read);
	}
	CHECK(t.broken > 0);
	scene_done(&s);
}

/* ---- a rename by descriptor ---- */

static void own(const char *path, uid_t uid) {
	if (chown(path, uid, (gid_t)uid) != 0) {
		abort();
	}
}

/* As an ordinary user, renames the file onto ws/dir/file: the errno. */
static int renamed_held(const char *name) {
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		int dir = open("dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int fd = open(name, O_PATH | O_CLOEXEC);
		bool other = setgid(65534) == 0 && setuid(65534) == 0;
		errno = 0;
		(void)beneath_rename_held(fd, (struct beneath_name){AT_FDCWD, name},
					  (struct beneath_name){dir, "file"}, true);
		_exit(other ? errno : 255);
	}
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* The kernel refuses a second name of a file of another user (fs.protected_hardlinks). */
TEST(a_rename_by_descriptor_that_fails_keeps_both_files) {
	struct scene s;
	struct stat st;

	if (geteuid() != 0) {
		SKIP("giving a file away needs root");
	}
	scene_make(&s);
	own("..", 65534);
	own(".", 65534);
	own("dir", 65534);
	own("dir/file", 65534);
	CHECK_INT(renamed_held("file"), EXDEV);
	CHECK(lstat("file", &st) == 0 && st.st_uid == 0 && st.st_nlink == 1);
	CHECK(lstat("dir/file", &st) == 0 && st.st_uid == 65534);
	scene_done(&s);
}

/* ---- rights ---- */

static uint32_t effective(void) {
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
	return syscall(SYS_capget, &head, sets) == 0 ? sets[0].effective : 0;
}

TEST(capabilities_are_laid_down_and_taken_up_again) {
	struct rights r;
	struct err e = {0};
	uint32_t before = effective();

	REQUIRE(rights_drop(&r, &e) == 0);
	CHECK_INT(effective(), 0);
	rights_restore(&r);
	CHECK_INT(effective(), before);
	rights_restore(&r); /* twice does no harm */
	CHECK_INT(effective(), before);
}

TESTS_MAIN
