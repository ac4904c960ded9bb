/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log: the chain, rotation, killed writers, and each way to change a log. */
#include "audit/audit.h"
#include "audit/print.h"
#include "audit/verify.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/remove_tree.h"

#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A log in a directory of its own. */
struct world {
	char dir[64], log[80];
	struct audit_place place;
};

static void world_init(struct world *w) {
	char head[80];
	*w = (struct world){0};
	(void)snprintf(w->dir, sizeof w->dir, "/tmp/corral-audit-XXXXXX");
	if (mkdtemp(w->dir) == NULL) {
		abort();
	}
	(void)snprintf(w->log, sizeof w->log, "%s/audit", w->dir);
	(void)snprintf(head, sizeof head, "%s/head", w->dir);
	w->place = (struct audit_place){.dir = w->log,
					.head = open(head, O_RDWR | O_CREAT | O_CLOEXEC, 0600),
					.head_at = 4096};
}

static void world_done(struct world *w) {
	(void)close(w->place.head);
	auto_fd tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(remove_tree(tmp, w->dir + strlen("/tmp/")), 0);
}

static void world_done_(struct world *w) {
	world_done(w);
}
#define WORLD(w)                                                                                   \
	__attribute__((cleanup(world_done_))) struct world w;                                      \
	world_init(&w)

static int append(struct world *w, const char *id) {
	const struct audit_run_facts f = {.id = id, .session = "s", .policy = "p"};
	const char *const argv[] = {"echo", "\x1b[31m\n\"", NULL};
	const struct audit_run r = {
		.verdict = "allowed", .reason = "exit", .argv = argv, .level = "full"};
	struct err e = {0};
	struct buf out;
	buf_init(&out);
	audit_put_run(&out, &f, &r);
	int rc = audit_append(&w->place, &out, &e);
	if (rc != 0) {
		printf("# %s\n", e.what);
	}
	buf_done(&out);
	audit_unlock(&w->place);
	return rc;
}

static void append_many(struct world *w, int n) {
	char id[16];
	for (int i = 0; i < n; i++) {
		(void)snprintf(id, sizeof id, "run%09d", i);
		CHECK_INT(append(w, id), 0);
	}
}

static struct audit_report verify(struct world *w) {
	struct audit_report r;
	struct err e = {0};
	CHECK_INT(audit_verify(&w->place, &r, &e), 0);
	return r;
}

/* ---- the text of a file, and a new one ---- */

static void read_log(struct world *w, uint64_t number, struct buf *out) {
	char path[PATH_MAX];
	CHECK(audit_file_path(w->log, number, path));
	buf_init(out);
	CHECK_INT(fd_read_file(path, 1 << 24, out), 0);
}

static void write_log(struct world *w, uint64_t number, const char *text, size_t len) {
	char path[PATH_MAX];
	CHECK(audit_file_path(w->log, number, path));
	auto_fd fd = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);
	CHECK_INT(fd_write_all(fd, text, len), 0);
}

/* The n-th line, from 0, with its newline. */
static struct audit_line line_of(const struct buf *text, int n) {
	const char *at = text->data;
	while (n-- > 0) {
		at = strchr(at, '\n') + 1;
	}
	return (struct audit_line){at, (size_t)(strchr(at, '\n') - at) + 1};
}

static void check_one(struct world *w, enum audit_fault fault, uint64_t seq) {
	struct audit_report r = verify(w);
	CHECK_INT(r.n, 1);
	CHECK_INT(r.faults, fault < AUDIT_TORN);
	CHECK_INT(r.findings[0].fault, fault);
	CHECK_INT(r.findings[0].seq, seq);
}

TEST(an_untouched_log_is_intact) {
	WORLD(w);
	append_many(&w, 20);
	struct audit_report r = verify(&w);
	CHECK_INT(r.n, 0);
	CHECK_INT(r.records, 20);
	CHECK_INT(r.head.seq, 20);
}

TEST(a_log_without_records_is_intact) {
	WORLD(w);
	struct audit_report r = verify(&w);
	CHECK_INT(r.n, 0);
	CHECK_INT(r.records, 0);
}

TEST(an_edited_line_is_found_and_only_that) {
	WORLD(w);
	struct buf text;
	append_many(&w, 9);
	read_log(&w, 1, &text);
	struct audit_line l = line_of(&text, 4);
	memcpy(strstr(text.data + (l.text - text.data), "\"exit\""), "\"EXIT\"", 6);
	write_log(&w, 1, text.data, text.len);
	buf_done(&text);
	check_one(&w, AUDIT_EDITED, 5);
}

/* Writes the lines in the order of a list of numbers that ends with -1. */
static void rearrange(struct world *w, const int *order) {
	struct buf text, out;
	read_log(w, 1, &text);
	buf_init(&out);
	for (; *order >= 0; order++) {
		struct audit_line l = line_of(&text, *order);
		buf_add(&out, l.text, l.len);
	}
	write_log(w, 1, out.data == NULL ? "" : out.data, out.len);
	buf_done(&text);
	buf_done(&out);
}

TEST(a_removed_line_is_found) {
	WORLD(w);
	append_many(&w, 6);
	rearrange(&w, (const int[]){0, 1, 3, 4, 5, -1});
	check_one(&w, AUDIT_REMOVED, 4);
}

TEST(a_removed_first_line_is_found) {
	WORLD(w);
	append_many(&w, 4);
	rearrange(&w, (const int[]){1, 2, 3, -1});
	check_one(&w, AUDIT_REMOVED, 2);
}

TEST(a_moved_line_is_found_and_no_other) {
	WORLD(w);
	append_many(&w, 6);
	rearrange(&w, (const int[]){0, 1, 3, 2, 4, 5, -1});
	check_one(&w, AUDIT_REORDERED, 3);
}

TEST(a_cut_off_end_is_found) {
	WORLD(w);
	append_many(&w, 6);
	rearrange(&w, (const int[]){0, 1, 2, 3, -1});
	struct audit_report r = verify(&w);
	CHECK_INT(r.findings[0].fault, AUDIT_CUT);
	CHECK_INT(r.findings[0].seq, 4);
	CHECK_INT(r.findings[0].count, 2);
	/* Also after the next record. */
	append_many(&w, 1);
	check_one(&w, AUDIT_REMOVED, 7);
}

TEST(a_log_whose_lines_are_all_gone_is_cut_off) {
	WORLD(w);
	append_many(&w, 3);
	rearrange(&w, (const int[]){-1});
	check_one(&w, AUDIT_CUT, 0);
}

TEST(a_line_that_is_no_record_is_found) {
	WORLD(w);
	struct buf text;
	append_many(&w, 2);
	read_log(&w, 1, &text);
	struct audit_line l = line_of(&text, 0);
	struct buf out;
	buf_init(&out);
	buf_add(&out, l.text, l.len);
	buf_puts(&out, "{\"kind\":\"run\"}\n");
	buf_add(&out, l.text + l.len, text.len - l.len);
	write_log(&w, 1, out.data, out.len);
	buf_done(&out);
	buf_done(&text);
	struct audit_report r = verify(&w);
	CHECK_INT(r.findings[0].fault, AUDIT_NO_RECORD);
	CHECK_INT(r.findings[0].line, 2);
}

TEST(a_lost_head_is_found_now_and_after_the_next_record) {
	WORLD(w);
	append_many(&w, 3);
	CHECK_INT(ftruncate(w.place.head, 0), 0);
	check_one(&w, AUDIT_HEAD_LOST, 3);
	append_many(&w, 1);
	check_one(&w, AUDIT_HEAD_LOST, 4);
}

/* ---- killed writers ---- */

/* Puts the head back to where it was before the last record. */
static void forget_head(struct world *w, const char text[AUDIT_HEAD_SIZE]) {
	CHECK_INT(pwrite(w->place.head, text, AUDIT_HEAD_SIZE, w->place.head_at), AUDIT_HEAD_SIZE);
}

TEST(a_record_that_the_head_lacks_is_taken_over) {
	WORLD(w);
	char head[AUDIT_HEAD_SIZE];
	append_many(&w, 3);
	CHECK_INT(pread(w.place.head, head, sizeof head, w.place.head_at), sizeof head);
	append_many(&w, 1);
	forget_head(&w, head);
	check_one(&w, AUDIT_UNFINISHED, 4);
	append_many(&w, 1);
	struct audit_report r = verify(&w);
	CHECK_INT(r.n, 0);
	CHECK_INT(r.records, 5);
}

TEST(a_part_of_a_record_is_removed_and_the_next_one_says_so) {
	WORLD(w);
	struct buf text;
	append_many(&w, 3);
	read_log(&w, 1, &text);
	buf_puts(&text, "{\"time\":\"2026-");
	write_log(&w, 1, text.data, text.len);
	buf_done(&text);
	check_one(&w, AUDIT_UNFINISHED, 3);
	append_many(&w, 1);
	check_one(&w, AUDIT_TORN, 4);
	CHECK_INT(verify(&w).findings[0].count, 14);
	CHECK_INT(verify(&w).records, 4);
}

TEST(a_line_that_follows_no_hash_stays_and_is_found) {
	WORLD(w);
	struct buf text;
	append_many(&w, 2);
	read_log(&w, 1, &text);
	buf_reserve(&text, text.len); /* the line must not move while it is copied */
	struct audit_line l = line_of(&text, 1);
	buf_add(&text, l.text, l.len);
	write_log(&w, 1, text.data, text.len);
	buf_done(&text);
	append_many(&w, 1);
	check_one(&w, AUDIT_REORDERED, 2);
	CHECK_INT(verify(&w).records, 4);
}

/* The head of another, shorter log: a directory was swapped or restored from a backup. */
TEST(a_head_of_another_log_removes_no_record) {
	WORLD(w);
	char head[AUDIT_HEAD_SIZE];
	struct audit_head h;
	append_many(&w, 9);
	CHECK_INT(audit_read_head(&w.place, &h), true);
	h.length = 40; /* within the first line */
	memset(h.hash, 'a', AUDIT_HASH);
	audit_head_text(&h, head);
	forget_head(&w, head);
	append_many(&w, 1);
	CHECK_INT(verify(&w).records, 10);
	check_one(&w, AUDIT_EDITED, 10);
}

/* ---- rotation ---- */

TEST(the_chain_goes_on_through_files_and_the_oldest_are_removed) {
	WORLD(w);
	uint64_t first = 0, last = 0;
	w.place.file_max = 2000;
	w.place.files = 3;
	append_many(&w, 60);
	CHECK(audit_find_files(w.log, &first, &last));
	CHECK_INT(last - first, 2);
	CHECK(first > 1);
	struct audit_report r = verify(&w);
	CHECK_INT(r.n, 0);
	CHECK_INT(r.files, 3);
	CHECK_INT(r.head.seq, 60);
	CHECK(r.head.first_seq > 1);
}

static void check_removed(uint64_t number) {
	WORLD(w);
	char path[PATH_MAX];
	w.place.file_max = 2000;
	append_many(&w, 20);
	CHECK(audit_file_path(w.log, number, path));
	CHECK_INT(unlink(path), 0);
	struct audit_report r = verify(&w);
	CHECK_INT(r.findings[0].fault, AUDIT_REMOVED);
}

TEST(a_removed_file_is_found) {
	check_removed(2);
}

TEST(the_oldest_file_that_was_removed_by_hand_is_found) {
	check_removed(1);
}

/* ---- writers at once ---- */

TEST(writers_at_once_make_one_chain) {
	WORLD(w);
	char head[80];
	(void)snprintf(head, sizeof head, "%s/head", w.dir);
	for (int n = 0; n < 4; n++) {
		if (fork() == 0) {
			/* A lock belongs to the open file description: each has its own. */
			w.place.head = open(head, O_RDWR | O_CLOEXEC);
			for (int i = 0; i < 50; i++) {
				if (append(&w, "x") != 0) {
					_exit(1);
				}
			}
			_exit(0);
		}
	}
	for (int n = 0; n < 4; n++) {
		int status = -1;
		CHECK(wait(&status) > 0);
		CHECK_INT(status, 0);
	}
	struct audit_report r = verify(&w);
	CHECK_INT(r.n, 0);
	CHECK_INT(r.records, 200);
}

static double seconds(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A stopped process holds the lock: the first writer waits for it, the next ones hardly. */
TEST(a_lock_that_is_held_delays_one_writer_and_no_record_is_lost_later) {
	WORLD(w);
	append_many(&w, 1);
	char head[80];
	(void)snprintf(head, sizeof head, "%s/head", w.dir);
	auto_fd other = open(head, O_RDWR | O_CLOEXEC);
	struct flock lock = {
		.l_type = F_WRLCK, .l_start = w.place.head_at, .l_len = AUDIT_HEAD_SIZE};
	for (int round = 0; round < 2; round++) {
		lock.l_type = F_WRLCK;
		CHECK_INT(fcntl(other, F_OFD_SETLK, &lock), 0);
		double start = seconds();
		CHECK_INT(append(&w, "waits"), -1);
		double first = seconds() - start;
		start = seconds();
		CHECK_INT(append(&w, "gives up"), -1);
		CHECK(first >= 0.4 && seconds() - start < first);
		lock.l_type = F_UNLCK;
		CHECK_INT(fcntl(other, F_OFD_SETLK, &lock), 0);
		/* The log changes: the mark of the stopped process is no longer valid. */
		append_many(&w, 1);
	}
	CHECK_INT(verify(&w).n, 0);
	CHECK_INT(verify(&w).records, 3);
}

/* ---- readers ---- */

TEST(a_line_holds_no_control_character) {
	WORLD(w);
	struct buf text;
	append_many(&w, 1);
	read_log(&w, 1, &text);
	for (size_t i = 0; i + 1 < text.len; i++) {
		CHECK((unsigned char)text.data[i] >= 0x20);
	}
	CHECK_INT(text.data[text.len - 1], '\n');
	buf_done(&text);
}

TEST(an_edited_line_prints_no_control_character) {
	static const char line[] =
		"{\"time\":\"2026-11-17T00:00:00.000Z\",\"seq\":1,\"kind\":\"r\x1b[2J\xc2\x9bun\"}";
	struct audit_line l = {line, sizeof line - 1};
	struct audit_fields f;
	struct buf out;
	buf_init(&out);
	CHECK_INT(audit_fields_read(&l, AUDIT_COMMAND, &f), 0);
	audit_text_line(&l, &f, false, &out);
	audit_detail(&l, &out);
	CHECK(strchr(out.data, '\x1b') == NULL && strstr(out.data, "\xc2\x9b") == NULL);
	buf_done(&out);
}

TEST(a_line_that_is_not_json_has_no_fields) {
	static const char *const wrong[] = {"",        "{",          "[]",           "{\"a\"",
					    "{\"a\":", "{\"a\":\"b", "{\"a\":[1,{}", "{\"a\":1}x",
					    "{a:1}",   "null"};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct audit_line l = {wrong[i], strlen(wrong[i])};
		struct audit_fields f;
		CHECK_INT(audit_fields_read(&l, AUDIT_MEMBERS, &f), -1);
		CHECK_INT(audit_line_seq(&l), 0);
		CHECK(audit_line_hash(&l) == NULL);
	}
}

/* ---- large logs ---- */

static int count_line(void *arg, const struct audit_line *l, const struct audit_cursor *where) {
	uint64_t *counts = arg;

	(void)where;
	counts[0]++;
	counts[1] += l->len + 1;
	CHECK(l->text[0] == '{' && l->text[l->len - 1] == '}');
	return 0;
}

/* Lines cross the ends of the pieces that are read, and one is longer than a piece. */
TEST(every_line_of_a_large_file_is_read_once) {
	WORLD(w);
	struct audit_cursor from = {0};
	uint64_t counts[2] = {0};
	struct err e = {0};
	struct buf text;
	buf_init(&text);
	for (int i = 0; i < 3000; i++) {
		buf_printf(&text, "{\"seq\":%d,\"x\":\"%0*d\"}\n", i,
			   i == 1500 ? 900000 : 1 + i % 700, i);
	}
	append_many(&w, 1);
	write_log(&w, 1, text.data, text.len);
	CHECK_INT(audit_each_line(w.log, &from, count_line, counts, &e), 0);
	CHECK_INT(counts[0], 3000);
	CHECK_INT(counts[1], text.len);
	CHECK_INT(from.at, text.len);
	buf_done(&text);
}

/* What `audit tail` prints: the last records, wherever their group begins. */
TEST(the_last_records_are_printed_and_no_other) {
	static const size_t numbers[] = {1, 2, 3, 5, 6, 7, 10, 12, 13, 20};
	WORLD(w);
	char path[80];
	append_many(&w, 12);
	(void)snprintf(path, sizeof path, "%s/out", w.dir);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		auto_fd fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		const struct audit_print p = {
			.dir = w.log, .form = AUDIT_AS_TEXT, .fd = fd, .last = numbers[i]};
		const struct audit_query q = {0};
		uint64_t count = 0;
		char id[16];
		struct err e = {0};
		struct buf text;
		buf_init(&text);
		CHECK_INT(audit_print(&p, &q, &count, &e), 0);
		CHECK_INT(count, numbers[i] < 12 ? numbers[i] : 12);
		CHECK_INT(fd_read_file(path, 1 << 16, &text), 0);
		(void)snprintf(id, sizeof id, "run%09d", (int)(12 - count));
		CHECK(strstr(line_of(&text, 0).text, id) != NULL);
		buf_done(&text);
	}
}

static int64_t time_of(struct audit_minute *m, const char *text) {
	char quoted[40];
	(void)snprintf(quoted, sizeof quoted, "\"%s\"", text);
	struct audit_fields f = {.at[AUDIT_TIME] = {quoted, strlen(quoted)}};
	CHECK_INT(audit_time_next(m, &f), audit_time(&f));
	return audit_time(&f);
}

TEST(a_time_after_another_is_read_as_alone) {
	struct audit_minute m = {0};
	CHECK_INT(time_of(&m, "2026-11-17T10:00:00.000Z"), INT64_C(1794909600000));
	CHECK_INT(time_of(&m, "2026-11-17T10:00:59.999Z"), INT64_C(1794909659999));
	CHECK_INT(time_of(&m, "2026-11-17T10:00:60.000Z"), 0);
	CHECK_INT(time_of(&m, "2026-11-17T10:00:0x.000Z"), 0);
	CHECK_INT(time_of(&m, "2026-11-17T10:00:01.000z"), 0);
	CHECK_INT(time_of(&m, "2026-02-30T10:00:01.000Z"), 0);
	CHECK_INT(time_of(&m, "2026-02-30T10:00:02.000Z"), 0);
	CHECK_INT(time_of(&m, "2026-11-17T10:01:00.001Z"), INT64_C(1794909660001));
	CHECK_INT(time_of(&m, "yesterday"), 0);
	CHECK_INT(time_of(&m, "2025-01-01T00:00:00.000Z"), INT64_C(1735689600000));
}

/* Runs with a clock that is set back and forth: none is lost, and each is in its column. */
TEST(stats_put_each_run_into_its_column) {
	static const char *const times[] = {"2026-11-17T12:00", "2026-11-17T00:00",
					    "2026-11-18T00:00", "2026-11-17T06:00",
					    "2026-11-17T23:59"};
	WORLD(w);
	struct buf text, out;
	buf_init(&text);
	buf_init(&out);
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		buf_printf(&text,
			   "{\"time\":\"%s:00.000Z\",\"seq\":%zu,\"kind\":\"run\",\"id\":\"i%zu\","
			   "\"command\":[\"x\"]}\n",
			   times[i], i + 1, i);
	}
	append_many(&w, 1);
	write_log(&w, 1, text.data, text.len);
	const struct audit_print p = {.dir = w.log, .form = AUDIT_AS_JSON};
	const struct audit_query q = {0};
	struct err e = {0};
	CHECK_INT(audit_stats(&p, &q, &out, &e), 0);
	CHECK(strstr(out.data,
		     "\"runs_over_time\":[1,0,0,0,0,1,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,2]") !=
	      NULL);
	buf_done(&text);
	buf_done(&out);
}

TEST(filters_compare_whole_names) {
	static const char line[] =
		"{\"time\":\"2026-11-17T10:00:00.000Z\",\"seq\":1,\"kind\":\"deny."
		"net\",\"id\":\"3r7s6m5772hq\",\"session\":\"s\",\"agent\":null,"
		"\"verdict\":\"denied\",\"path\":\"/a/bc\",\"host\":\"x.example.org\"}";
	static const struct {
		struct audit_query q;
		bool passes;
	} rows[] = {
		{{0}, true},
		{{.kind = "deny"}, true},
		{{.kind = "deny.net"}, true},
		{{.kind = "den"}, false},
		{{.host = "example.org"}, true},
		{{.host = "ample.org"}, false},
		{{.path = "/a"}, true},
		{{.path = "/"}, true},
		{{.path = "/a/b"}, false},
		{{.path = "/a/bc/"}, true},
		{{.id = "72hq"}, true},
		{{.id = "72hx"}, false},
		{{.agent = "a"}, false},
		{{.session = "s", .verdict = "denied"}, true},
		{{.since_ms = INT64_C(1794909600000)}, true},
		{{.since_ms = INT64_C(1794909600001)}, false},
		{{.until_ms = INT64_C(1794909600000)}, false},
		{{.until_ms = INT64_C(1794909600001)}, true},
	};
	struct audit_line l = {line, sizeof line - 1};
	struct audit_fields f;
	CHECK_INT(audit_fields_read(&l, AUDIT_MEMBERS, &f), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct audit_filter filter;
		struct err e = {0};
		CHECK_INT(audit_filter_init(&filter, &rows[i].q, &e), 0);
		struct audit_fields read;
		if (audit_filter_passes(&filter, &f) != rows[i].passes ||
		    audit_filter_line(&filter, &l, AUDIT_COMMAND, &read) != rows[i].passes) {
			test_failed = true;
			printf("# row %zu\n", i);
		}
		audit_filter_done(&filter);
	}
}

TESTS_MAIN
