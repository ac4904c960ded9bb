/* SPDX-License-Identifier: Apache-2.0 */
#include "base/auto.h"
#include "base/str.h"
#include "data/gitkeys.h"
#include "plan/git/clean.h"
#include "test.h"

#define GONE "; corral: a credential was removed here"
#define TOKEN "ghp_0123456789abcdefABCDEF0123456789abcd"

static const struct {
	const char *text, *want; /* NULL: the same */
} cases[] = {
	/* addresses */
	{"[remote \"o\"]\n\turl = https://ann:pw@h/x.git # c\n",
	 "[remote \"o\"]\n\turl = \"https://h/x.git\" # c\n"},
	{"[remote \"o\"]\n\tpushurl = https://" TOKEN "@h/x\n",
	 "[remote \"o\"]\n\tpushurl = \"https://h/x\"\n"},
	{"[remote \"o\"]\nurl = https://x-access-token:abc@h/x\n[a]\nb = c\n",
	 "[remote \"o\"]\nurl = \"https://h/x\"\n[a]\nb = c\n"},
	{"[remote \"o\"]\nurl = https://p@ss:w@rd@h/x\n",
	 "[remote \"o\"]\nurl = \"https://h/x\"\n"},
	{"[remote \"o\"]\nurl = https://u:a/b@h/x\n", "[remote \"o\"]\nurl = \"https://h/x\"\n"},
	{"[remote \"o\"]\nurl = HTTPS://u:p@h\n", "[remote \"o\"]\nurl = \"HTTPS://h\"\n"},
	{"[remote \"o\"]\nurl = ssh://git:pw@h/x\n", "[remote \"o\"]\nurl = \"ssh://git@h/x\"\n"},
	{"[remote \"o\"]\nurl = hg::https://u:p@h/x\n",
	 "[remote \"o\"]\nurl = \"hg::https://h/x\"\n"},
	{"[remote \"o\"]\nurl = https://h/x?private_token=abc\n",
	 "[remote \"o\"]\nurl = \"https://h/x\"\n"},
	/* however git's syntax hides it */
	{"[remote \"o\"]\nurl = ht\"tps:\"//u\\\n:p@h/x\n",
	 "[remote \"o\"]\nurl = \"https://h/x\"\n"},
	{"[url \"https://u:p@h/\"]\ninsteadOf = https://h/\n",
	 "[url \"https://h/\"]\ninsteadOf = https://h/\n"},
	{"[url \"https:\\//u\\:p@h/\"]\r\nk = v\r\n", "[url \"https://h/\"]\r\nk = v\r\n"},
	{"# url = https://u:p@h/x\n[a]\n", "# url = https://h/x\n[a]\n"},
	{"[http]\nproxy = u:p@proxy:3128\n", "[http]\nproxy = \"proxy:3128\"\n"},
	{"[alias]\nx = !curl https://u:p@h/ | sh\n", "[alias]\nx = \"!curl https://h/ | sh\"\n"},
	/* entries */
	{"[http \"https://h/\"]\n\textraheader = AUTHORIZATION: basic eHg= \n",
	 "[http \"https://h/\"]\n\t" GONE " \n"},
	{"[http] ExtraHeader = \"A\\\nB\" # c\n", "[http] " GONE " # c\n"},
	{";extraHeader = Authorization: x\n", GONE "\n"},
	{"[credential]\nhelper = \"!f() { echo password=x; }; f\"\n", "[credential]\n" GONE "\n"},
	{"[sendemail]\nsmtpPass = x\n[github]\ntoken = x\n[x]\nmyPassword = x\n",
	 "[sendemail]\n" GONE "\n[github]\n" GONE "\n[x]\n" GONE "\n"},
	{"[x]\ny = see " TOKEN ".\n", "[x]\ny = \"see REMOVED.\"\n"},
	/* what is none */
	{"[core]\n\trepositoryformatversion = 0 # \xc3\xa4\n\n\n[user]\n name=\"A\" ;x", NULL},
	{"[remote \"o\"]\nurl = git@h:x.git\nurl = https://ann@h/x\nurl = ssh://git@h:22/x\n",
	 NULL},
	{"[remote \"o\"]\nurl = https://h:8080/@scope/x?ref=main\nurl = ../x@y\n", NULL},
	{"[credential \"https://ann@h\"]\nhelper = store --file ~/x\nusername = ann\n", NULL},
	{"[http]\nsslCertPasswordProtected = true\nextraheader =\nproxy = http://p:3128\n", NULL},
	{"[user]\nsigningkey = ABCDEF0123456789ABCDEF0123456789\nemail = ann@example.org\n", NULL},
	{"# my token is elsewhere\n; ghp_short\n", NULL},
	{"[x]\ny = v\\", NULL},
	{"", NULL},
};

TEST(credentials_go_and_every_other_byte_stays) {
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out, again;
		const char *want = cases[i].want == NULL ? cases[i].text : cases[i].want;
		buf_init(&out);
		buf_init(&again);
		CHECK_INT(git_clean(cases[i].text, strlen(cases[i].text), &out),
			  cases[i].want == NULL ? GIT_CLEAN_SAME : GIT_CLEAN_CHANGED);
		CHECK_STR(out.data, want);
		CHECK_INT(git_clean(out.data, out.len, &again), GIT_CLEAN_SAME);
		buf_done(&out);
		buf_done(&again);
	}
}

TEST(a_file_that_git_cannot_read_is_closed_when_it_seems_to_hold_one) {
	static const struct {
		const char *text;
		size_t len;
		enum git_clean want;
	} bad[] = {
		{"[a\nurl = https://u:p@h/\n", 0, GIT_CLEAN_CLOSED},
		{"[a]\nk = \"x\ntoken = x\n", 0, GIT_CLEAN_CLOSED},
		{"[a]\nx = \0\nurl = https://u:p@h/", 30, GIT_CLEAN_CLOSED},
		{"[a\nurl = https://h/\n", 0, GIT_CLEAN_SAME},
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct buf out;
		buf_init(&out);
		size_t len = bad[i].len == 0 ? strlen(bad[i].text) : bad[i].len;
		CHECK_INT(git_clean(bad[i].text, len, &out), bad[i].want);
		buf_done(&out);
	}
}

TEST(tables_are_sorted_unique_and_give_reasons) {
	for (size_t i = 0; i < gitkeys_count; i++) {
		CHECK(gitkeys[i].reason != NULL);
		CHECK(i == 0 || strcmp(gitkeys[i - 1].key, gitkeys[i].key) < 0);
		for (const char *p = gitkeys[i].key; *p != '\0'; p++) {
			CHECK(*p >= 'a' && *p <= 'z');
		}
	}
	for (size_t i = 0; i < token_prefixes_count; i++) {
		CHECK(token_prefixes[i].reason != NULL);
		CHECK(i == 0 || strcmp(token_prefixes[i - 1].prefix, token_prefixes[i].prefix) < 0);
	}
}

TESTS_MAIN
