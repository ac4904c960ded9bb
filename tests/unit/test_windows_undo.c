/* SPDX-License-Identifier: Apache-2.0 */
/* corral.exe: the journal of its changes, and the entries of DACLs. */
#include "test.h"

#include "base/auto.h"
#include "windows/grants.h"
#include "windows/undo_journal.h"

/* ---- the journal ---- */

static const struct journal_record records[] = {
	{JOURNAL_RUN, {"3r947gp5utja"}},
	{JOURNAL_PROFILE, {"corral.3r947gp5utja"}},
	{JOURNAL_DIRECTORY, {"C:\\Users\\a b\\AppData\\Local\\Corral\\runs\\x"}},
	{JOURNAL_GRANT, {"C:\\100%\t\nodd\x7F", "S-1-15-2-1", "D:AI(A;;FA;;;WD)"}},
};

static void write_all(struct buf *out) {
	buf_init(out);
	for (size_t i = 0; i < ARRAY_LEN(records); i++) {
		undo_journal_write(out, &records[i]);
	}
}

/* The records of a text begin with the first n written ones. */
static void check_records(const struct undo_journal *j, size_t n) {
	CHECK_INT(j->count, n);
	for (size_t i = 0; i < n && i < j->count; i++) {
		CHECK_INT(j->records[i].kind, records[i].kind);
		for (size_t f = 0; f < JOURNAL_FIELDS_MAX && records[i].fields[f] != NULL; f++) {
			CHECK_STR(j->records[i].fields[f], records[i].fields[f]);
		}
	}
}

TEST(a_journal_reads_what_it_wrote) {
	struct arena a;
	struct buf text;
	struct undo_journal j;
	struct err e;

	arena_init(&a);
	write_all(&text);
	CHECK_INT(undo_journal_read(&a, text.data, text.len, &j, &e), 0);
	check_records(&j, ARRAY_LEN(records));
	CHECK(!j.torn);
	CHECK_INT(j.damaged, 0);
	buf_done(&text);
	arena_done(&a);
}

/* X3: at every byte at which a write may have stopped. */
TEST(a_journal_that_ends_anywhere_gives_the_whole_records_before) {
	struct arena a;
	struct buf text;
	struct undo_journal j;
	struct err e;

	arena_init(&a);
	write_all(&text);
	for (size_t len = 0; len < text.len; len++) {
		size_t lines = 0;
		for (size_t i = 0; i < len; i++) {
			lines += text.data[i] == '\n';
		}
		CHECK_INT(undo_journal_read(&a, text.data, len, &j, &e), 0);
		check_records(&j, lines);
		CHECK_INT(j.torn, len > 0 && text.data[len - 1] != '\n');
		CHECK_INT(j.damaged, 0);
	}
	buf_done(&text);
	arena_done(&a);
}

TEST(a_damaged_line_is_counted_and_the_others_are_read) {
	struct arena a;
	struct buf text;
	struct undo_journal j;
	struct err e;

	arena_init(&a);
	write_all(&text);
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '\n') {
			continue;
		}
		char before = text.data[i];
		text.data[i] = before == 'Q' ? 'R' : 'Q';
		CHECK_INT(undo_journal_read(&a, text.data, text.len, &j, &e), 0);
		CHECK_INT(j.damaged, 1);
		CHECK_INT(j.count, ARRAY_LEN(records) - 1);
		text.data[i] = before;
	}
	buf_done(&text);
	arena_done(&a);
}

TEST(the_entries_of_a_dacl_are_found_behind_its_flags) {
	CHECK_STR(undo_journal_entries("D:PAI(A;;FA;;;WD)(A;;FR;;;BU)"),
		  "(A;;FA;;;WD)(A;;FR;;;BU)");
	CHECK_STR(undo_journal_entries("D:AI"), "");
}

/* ---- grants ---- */

TEST(a_writable_directory_cannot_be_deleted_or_opened_to_others) {
	const struct path_grant g = {.path = "C:\\w", .directory = true, .access = GRANT_WRITE};
	struct grant_entry entries[GRANT_ENTRIES_MAX];

	REQUIRE(grants_entries(&g, entries) == 2);
	CHECK_INT(entries[0].flags, 0);
	CHECK_INT(entries[0].mask & 0x00010000, 0); /* DELETE */
	CHECK(entries[1].mask & 0x00010000);
	CHECK_INT(entries[1].flags, 0xB);
	for (size_t i = 0; i < 2; i++) {
		CHECK_INT(entries[i].mask & 0x000C0000, 0); /* WRITE_DAC, WRITE_OWNER */
		CHECK(entries[i].mask & 0x2);               /* FILE_ADD_FILE */
	}
}

TEST(a_readable_directory_has_no_right_to_write) {
	const struct path_grant dir = {.path = "C:\\r", .directory = true, .access = GRANT_READ};
	const struct path_grant file = {.path = "C:\\f", .access = GRANT_READ};
	struct grant_entry entries[GRANT_ENTRIES_MAX];

	REQUIRE(grants_entries(&dir, entries) == 1);
	/* write data, append, extended attributes, delete a child, attributes, delete, DACL, owner
	 */
	CHECK_INT(entries[0].mask & 0x000D0156, 0);
	CHECK_INT(entries[0].flags, 0x3);
	REQUIRE(grants_entries(&file, entries) == 1);
	CHECK_INT(entries[0].flags, 0);
}

TEST(grants_that_another_includes_are_removed) {
	struct path_grant list[] = {
		{"C:\\w", true, GRANT_WRITE},          {"c:\\W\\sub", true, GRANT_READ},
		{"C:\\w2", true, GRANT_READ},          {"C:\\w2\\out", true, GRANT_WRITE},
		{"C:\\W2", true, GRANT_READ},          {"C:\\f", false, GRANT_READ},
		{"C:\\f\\beneath", false, GRANT_READ},
	};
	size_t n = grants_reduce(list, ARRAY_LEN(list));

	REQUIRE(n == 5);
	CHECK_STR(list[0].path, "C:\\w");
	CHECK_STR(list[1].path, "C:\\w2");
	CHECK_STR(list[2].path, "C:\\w2\\out");
	CHECK_STR(list[3].path, "C:\\f");
	CHECK_STR(list[4].path, "C:\\f\\beneath");
}

TEST(paths_are_compared_by_components) {
	CHECK(grants_within("C:\\ws\\a", "C:\\ws"));
	CHECK(grants_within("C:\\ws", "c:\\WS\\"));
	CHECK(!grants_within("C:\\ws-evil", "C:\\ws"));
	CHECK(grants_within("C:\\a", "C:\\"));
	CHECK(grants_is_absolute("C:\\a"));
	CHECK(grants_is_absolute("\\\\server\\share"));
	CHECK(!grants_is_absolute("C:a"));
	CHECK(!grants_is_absolute("\\a"));
	CHECK(!grants_is_absolute("a\\b"));
	CHECK(!grants_is_absolute("C:\\a\\..\\b"));
	CHECK(grants_is_absolute("C:\\a\\..b"));
}

TESTS_MAIN
