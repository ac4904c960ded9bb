/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a git configuration that hold credentials, and the prefixes of tokens.
 *
 * Should:   hold one row a key or prefix, sorted, each with its reason.
 * Must not: name a key that git needs for work without a network.
 * Fails:    open: a missing row leaves its value readable; a URL in it is still checked for
 *           a password (plan/git/clean.c). */
#include "data/gitkeys.h"

#include "base/auto.h"

const struct gitkey_row gitkeys[] = {
	{NULL, "accesskey", "a key of an object store", GITKEY_WHOLE},
	{NULL, "apikey", "a key of a service", GITKEY_WHOLE},
	{"http", "extraheader", "carries the token of CI machines", GITKEY_WHOLE},
	{"credential", "helper", "a program; some contain the password inline", GITKEY_SCRIPT},
	{NULL, "passphrase", "its name says that it is secret", GITKEY_WHOLE},
	{NULL, "passwd", "its name says that it is secret", GITKEY_WHOLE},
	{NULL, "password", "its name says that it is secret", GITKEY_WHOLE},
	{NULL, "privatekey", "its name says that it is secret", GITKEY_WHOLE},
	{NULL, "proxy", "a proxy's address may hold its password", GITKEY_PROXY},
	{NULL, "secret", "its name says that it is secret", GITKEY_WHOLE},
	{"sendemail", "smtppass", "the password of a mail server", GITKEY_WHOLE},
	{NULL, "token", "its name says that it is secret", GITKEY_WHOLE},
};
const size_t gitkeys_count = ARRAY_LEN(gitkeys);

const struct token_row token_prefixes[] = {
	{"ATATT3", "a token of Atlassian"},
	{"ATBB", "an app password of Bitbucket"},
	{"ATCTT3", "an access token of Bitbucket"},
	{"gho_", "a token of GitHub"},
	{"ghp_", "a token of GitHub"},
	{"ghr_", "a token of GitHub"},
	{"ghs_", "a token of GitHub"},
	{"ghu_", "a token of GitHub"},
	{"github_pat_", "a token of GitHub"},
	{"gldt-", "a deploy token of GitLab"},
	{"glpat-", "a token of GitLab"},
	{"glptt-", "a trigger token of GitLab"},
	{"hf_", "a token of Hugging Face"},
};
const size_t token_prefixes_count = ARRAY_LEN(token_prefixes);
