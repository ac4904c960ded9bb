/* SPDX-License-Identifier: Apache-2.0 */
#include "base/auto.h"
#include "data/gitsafe.h"
#include "plan/git/settings.h"
#include "test.h"

static const char *settings_of(struct gitsettings *s, const char *text) {
	*s = (struct gitsettings){.excludes = ""};
	buf_init(&s->text);
	git_settings_read(s, text);
	return s->text.data == NULL ? "" : s->text.data;
}

TEST(safe_settings_are_taken_in_their_order) {
	static const struct {
		const char *text, *out;
	} cases[] = {
		{"[alias]\n\tst = status -sb\n", "[alias]\n\tst = \"status -sb\"\n"},
		{"[Init]\ndefaultBranch = trunk\n", "[init]\n\tdefaultbranch = \"trunk\"\n"},
		{"[pull]\nrebase = false\n[pull]\nrebase = true\n",
		 "[pull]\n\trebase = \"false\"\n[pull]\n\trebase = \"true\"\n"},
		{"[commit]\nverbose\n", "[commit]\n\tverbose\n"},
		{"[color]\nui = auto\n[color \"diff\"]\nmeta = red\n",
		 "[color]\n\tui = \"auto\"\n"},
		{"", ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct gitsettings s;
		CHECK_STR(settings_of(&s, cases[i].text), cases[i].out);
		buf_done(&s.text);
	}
}

TEST(programs_paths_credentials_and_what_is_unknown_are_left_out) {
	static const char *const cases[] = {
		"[alias]\nx = !sh -c id\n",
		"[alias]\nx = \"!sh\"\n",
		"[alias]\nx\n",
		"[alias \"y\"]\nx = status\n",
		"[alias]\nx = \"a\\tb\"\n",
		"[alias]\nx = push https://ann:secret@example.org/r\n",
		"[core]\npager = less\neditor = vi\nsshCommand = ssh\nfsmonitor = x\nhooksPath = "
		"/x\n",
		"[core]\naskPass = x\nattributesFile = x\ngitProxy = x\nworktree = /\n",
		"[diff]\nexternal = x\ntool = x\n[diff \"d\"]\ntextconv = x\ncommand = x\n",
		"[filter \"f\"]\nclean = x\n[merge \"m\"]\ndriver = x\n[merge]\ntool = x\n",
		"[credential]\nhelper = store\n[gpg]\nprogram = x\n[commit]\ngpgSign = true\n",
		"[commit]\ntemplate = x\n[sequence]\neditor = x\n[pager]\nlog = x\n[interactive]\n"
		"diffFilter = x\n",
		"[include]\npath = x\n[url \"a\"]\ninsteadOf = b\n[http]\nextraHeader = x\n",
		"[user]\nsigningKey = x\nname = Ann\n[log]\nshowSignature = true\n",
		"alone = x\n[]\nx = y\n[ada",
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct gitsettings s;
		CHECK_STR(settings_of(&s, cases[i]), "");
		CHECK_STR(s.excludes, "");
		buf_done(&s.text);
	}
}

TEST(the_list_of_ignored_names_is_named_apart) {
	struct gitsettings s;
	CHECK_STR(settings_of(&s, "[core]\nexcludesFile = ~/a\n[core]\nexcludesfile = ~/b\n"), "");
	CHECK_STR(s.excludes, "~/b");
	buf_done(&s.text);
}

TEST(rows_are_sorted_in_lower_case_and_have_reasons) {
	for (size_t i = 0; i < gitsafe_rows_count; i++) {
		const struct gitsafe_row *row = &gitsafe_rows[i], *before = row - 1;
		CHECK(strlen(row->reason) > 5);
		int order = i == 0 ? -1 : strcmp(before->section, row->section);
		CHECK(order < 0 || (order == 0 && strcmp(before->key, row->key) < 0));
		for (const char *p = row->key; *p != '\0'; p++) {
			CHECK(*p < 'A' || *p > 'Z');
		}
	}
}

TESTS_MAIN
