/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the last output of a failed command for the phrases of data/hints.c, and queries
 * plan/refusal.c about the paths in the same line.
 *
 * Should:   return the first hint whose condition holds, with the remedy for the path.
 * Must not: look up a path on the host that the sandbox does not show (hint.h).
 * Fails:    open: without a match there is no hint. */
#include "run/hint.h"

#include "base/auto.h"
#include "base/ip.h"
#include "base/path.h"
#include "base/str.h"
#include "data/paths.h"
#include "plan/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the words of a line ---- */

struct span {
	const char *at, *end;
};

static struct span line_around(const struct output_tail *o, const char *at) {
	const char *end = o->text + o->len;
	struct span line = {.at = at, .end = at};

	while (line.at > o->text && line.at[-1] != '\n') {
		line.at--;
	}
	while (line.end < end && *line.end != '\n') {
		line.end++;
	}
	return line;
}

/* Bytes that end a word: the punctuation that programs put around a path, typographic quotes
 * (E2 80 98, …) too, and control characters. */
static bool ends_word(const char *p, const char *end) {
	unsigned char c = (unsigned char)*p;
	bool quote = end - p >= 3 && memcmp(p, "\xe2\x80", 2) == 0 && (unsigned char)p[2] >= 0x98 &&
		     (unsigned char)p[2] <= 0x9f;

	return quote || c <= ' ' || c == 0x7f || strchr("'\"`:,;()[]<>=", c) != NULL;
}

/* The next word at or after *at; advances *at past it; false at the end. */
static bool next_word(const char **at, const char *end, struct span *ret) {
	const char *p = *at;

	while (p < end && ends_word(p, end)) {
		p += (unsigned char)*p == 0xe2 ? 3 : 1;
	}
	ret->at = p;
	while (p < end && !ends_word(p, end)) {
		p++;
	}
	ret->end = *at = p;
	return ret->end > ret->at;
}

/* ---- paths ---- */

#define CAUSE(name) (UINT64_C(1) << CAUSE_##name)
_Static_assert(CAUSE_COUNT <= 64, "a set of causes is a uint64_t");
#define NOT_SHOWN (CAUSE(OUTSIDE) | CAUSE(SOCKET))
#define NOT_THERE (CAUSE(HOME) | CAUSE(OTHER_HOME) | CAUSE(TMP) | CAUSE(ABOVE) | CAUSE(SKILL))
#define HIDDEN (CAUSE(CREDENTIAL) | CAUSE(OWN) | CAUSE(DENY) | CAUSE(DENY_BOUND))
#define KEPT                                                                                       \
	(CAUSE(PROTECT) | CAUSE(PROTECT_BOUND) | CAUSE(GIT_LINK) | CAUSE(GIT_MODULES) |            \
	 CAUSE(PROJECT))
#define READ_ONLY                                                                                  \
	(CAUSE(OUTSIDE) | CAUSE(MODE) | CAUSE(MODE_BOUND) | CAUSE(MODE_AGENT) |                    \
	 CAUSE(MODE_SKILL) | CAUSE(SKILL) | CAUSE(ABOVE) | CAUSE(READ_ONLY) | CAUSE(MADE) |        \
	 CAUSE(OWN))

/* For each condition of a hint: which paths in the line count, and which causes of a refusal. */
static const struct path_match {
	uint64_t causes;
	bool write;   /* a write failed; false: line_writes() decides */
	bool missing; /* the path was not found */
	bool move;    /* a rename or removal failed */
	bool any;     /* every word may be the path: such refusals are rare */
	bool subject; /* the word beside the phrase may be a relative path */
	bool first;   /* the first word may be the path; false: it is the program's name */
} path_matches_of[] = {
	[HINT_DENIED] = {.causes = HIDDEN, .any = true, .first = true},
	[HINT_PROTECTED] = {.causes = KEPT, .write = true, .any = true, .first = true},
	[HINT_BUSY] = {.causes = KEPT | HIDDEN, .write = true, .move = true, .any = true},
	[HINT_UNSEEN] = {.causes = NOT_SHOWN | CAUSE(SKILL), .first = true},
	[HINT_PRIVATE] = {.causes = NOT_THERE | CAUSE(SOCKET), .missing = true},
	[HINT_REMOTE] = {.causes = NOT_SHOWN | NOT_THERE, .missing = true, .first = true},
	[HINT_SOCKET] = {.causes = CAUSE(SOCKET), .missing = true, .first = true},
	[HINT_BESIDE] = {.causes = CAUSE(BESIDE), .write = true, .any = true},
	[HINT_READ_ONLY] = {.causes = READ_ONLY | CAUSE(RIGHTS), .write = true, .subject = true},
	[HINT_CLOSED] = {.causes = NOT_SHOWN | CAUSE(SKILL), .first = true},
	[HINT_LOCKED] = {.causes = READ_ONLY, .write = true, .subject = true},
};

struct matcher {
	const struct plan *plan;
	const struct policy *policy;
	const struct hint *hint;
	struct span line, phrase;
};

static bool line_has(struct span line, const char *words) {
	return memmem(line.at, (size_t)(line.end - line.at), words, strlen(words)) != NULL;
}

/* Whether the line reports a failed write or creation. */
static bool line_writes(struct span line) {
	static const char *const verbs[] = {
		"cannot create", "cannot make",           "cannot touch", "cannot remove",
		"cannot move",   "cannot write",          "for writing",  "could not create",
		"mkdir",         "Directory nonexistent",
	};
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (line_has(line, verbs[i])) {
			return true;
		}
	}
	return false;
}

/* Finds the nearest existing parent directory.  Only without namespaces, where the command can
 * see it as well. */
static void find_existing_parent(struct refusal_question *q, char dir[PATH_MAX]) {
	if (!plan_lacks_namespaces(q->plan) || !path_parent(q->path, dir)) {
		return;
	}
	while (faccessat(AT_FDCWD, dir, F_OK, AT_EACCESS) != 0) {
		char up[PATH_MAX];
		if (!path_parent(dir, up)) {
			return;
		}
		memcpy(dir, up, strlen(up) + 1);
	}
	q->exists = dir;
}

/* Checks on the host whether the path exists and is writable; only a path that the sandbox
 * shows, which the command can check as well. */
static void check_host(struct refusal_question *q) {
	char dir[PATH_MAX];
	const char *parent = path_parent(q->path, dir) ? dir : "/";

	if (plan_visibility(q->plan, q->path) != VISIBILITY_READ || q->want != ACCESS_WRITE) {
		return;
	}
	q->missing = faccessat(AT_FDCWD, q->path, F_OK, AT_EACCESS) != 0 && errno == ENOENT;
	q->rights = faccessat(AT_FDCWD, q->missing ? parent : q->path, W_OK, AT_EACCESS) != 0 &&
		    errno == EACCES;
}

static bool is_directory(const struct refusal_question *q) {
	struct stat st;
	return plan_visibility(q->plan, q->path) != VISIBILITY_NONE && lstat(q->path, &st) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* A name that does not exist cannot have been moved or removed: the command would have created it.
 */
static bool is_absent(const struct refusal_question *q) {
	struct stat st;
	return plan_visibility(q->plan, q->path) != VISIBILITY_NONE && lstat(q->path, &st) != 0 &&
	       errno == ENOENT;
}

/* "ln: failed to create symbolic link 'a'", "[Errno 16] …: 'b' -> 'a'" */
static bool line_links(struct span line) {
	return line_has(line, "symbolic link") || line_has(line, "symlink") ||
	       line_has(line, "' -> '");
}

/* A credential in a HOME that is hidden as a whole is named as one, as in denials and by `corral
 * why`; without namespaces by its path on the host, which an option would have to name. */
static void name_credential(const struct refusal_question *q, struct verdict *ret) {
	const struct plan *plan = q->plan;
	bool hidden = ret->cause == CAUSE_HOME || ret->cause == CAUSE_OTHER_HOME ||
		      ret->cause == CAUSE_OUTSIDE;
	struct refusal_question own = *q;
	char path[PATH_MAX];

	if (!hidden || plan->home_own == NULL) {
		return;
	}
	if (plan->home_at != NULL && path_within(q->path, plan->home_at) &&
	    path_rebase(q->path, plan->home_at, plan->home_own, path, sizeof path)) {
		own.path = path;
	}
	if (path_credential(plan->home_own, own.path) != NULL) {
		refusal_say(&own, CAUSE_CREDENTIAL, ret);
	}
}

static bool path_matches(const struct matcher *l, const char *path, struct verdict *ret) {
	const struct path_match *s = &path_matches_of[l->hint->when];
	bool write = s->write || line_writes(l->line);
	struct refusal_question q = {.plan = l->plan,
				     .policy = l->policy,
				     .path = path,
				     .want = write ? ACCESS_WRITE : ACCESS_READ,
				     .missing = s->missing};
	char above[PATH_MAX];

	check_host(&q);
	find_existing_parent(&q, above);
	refusal_judge(&q, ret);
	bool found = ret->kind != ERR_NONE && (s->causes & UINT64_C(1) << ret->cause) != 0;
	/* In /proc the kernel refuses reading, too, as it does outside. */
	found = found &&
		(ret->cause != CAUSE_MADE || l->hint->when != HINT_LOCKED || line_writes(l->line));
	if (found) {
		name_credential(&q, ret);
	}
	/* A protected directory cannot be moved, even with an exception. */
	bool moved = s->move || (found && line_has(l->line, "cannot move"));
	if (moved && is_directory(&q)) {
		refusal_judge_move(&q, ret);
		found = ret->cause == CAUSE_KEPT;
	}
	if (!found && s->move && (is_absent(&q) || line_links(l->line))) {
		refusal_judge_link(&q, ret);
		found = ret->cause == CAUSE_LEADS_OUT;
	}
	return found;
}

/* The word that a message puts beside its phrase: "touch: 'a': Read-only file system", and
 * "Read-only file system: 'a'". */
static bool is_subject(const struct matcher *l, struct span word) {
	const char *digit = word.at;

	while (digit < word.end && *digit >= '0' && *digit <= '9') {
		digit++;
	}
	if (digit == word.end) {
		return false; /* a line number or an errno */
	}
	if (word.end <= l->phrase.at) {
		struct span gap = {word.end, l->phrase.at};
		const char *at = gap.at;
		struct span other;
		return line_has(gap, ":") && !next_word(&at, gap.end, &other);
	}
	const char *at = l->phrase.end;
	struct span first;
	return next_word(&at, l->line.end, &first) && first.at == word.at;
}

/* Fills the advice from a verdict; the path is printed before the text, so it is removed from
 * the beginning of the reason. */
static void write_verdict(const struct matcher *l, const char *path, const struct verdict *v,
			  struct advice *ret) {
	size_t len = strlen(path);
	const char *reason = v->reason;

	if (strncmp(reason, path, len) == 0 && reason[len] == ' ') {
		reason += len + 1;
		reason += str_starts(reason, "is ") ? 3 : 0;
	}
	(void)snprintf(ret->path, sizeof ret->path, "%s", path);
	bool push = l->hint->when == HINT_REMOTE && v->cause != CAUSE_SOCKET &&
		    v->cause != CAUSE_OTHER_HOME;
	(void)snprintf(ret->text, sizeof ret->text, "%s; %s%s%s%s", reason, v->remedy,
		       push ? " (to push to it: --write " : "", push ? path : "", push ? ")" : "");
	ret->rule = v->key;
}

/* program: the word is the name of the program, so it counts only as a socket. */
static bool word_matches(const struct matcher *l, struct span word, bool program,
			 struct advice *ret) {
	const struct path_match *s = &path_matches_of[l->hint->when];
	char text[sizeof ret->path];
	size_t len = (size_t)(word.end - word.at);
	struct verdict v;
	struct arena a;

	while (len > 1 && word.at[len - 1] == '.' && word.at[len - 2] != '.') {
		len--; /* the end of a sentence */
	}
	bool absolute = *word.at == '/' || (len > 3 && strncmp(word.at, "../", 3) == 0);
	if (len >= sizeof text || (!absolute && !s->any && !(s->subject && is_subject(l, word)))) {
		return false;
	}
	memcpy(text, word.at, len);
	text[len] = '\0';
	arena_init(&a);
	const char *path = path_join(&a, l->plan->cwd, text);
	bool found = path != NULL && strlen(path) < sizeof ret->path && path_matches(l, path, &v) &&
		     (!program || v.cause == CAUSE_SOCKET);
	if (found) {
		write_verdict(l, path, &v, ret);
	}
	arena_done(&a);
	return found;
}

/* Whether the first word is the program's name and not the path that failed, as in "bin/cat: file:
 * Permission denied" when the sandbox shows that file. */
static bool first_is_program(const struct matcher *l) {
	const char *at = l->line.at;
	struct span first, word;
	char text[PATH_MAX];
	bool found = false;

	if (!next_word(&at, l->phrase.at, &first) || first.at != l->line.at || *first.end != ':') {
		return false;
	}
	while (!found && next_word(&at, l->phrase.at, &word)) {
		size_t len = (size_t)(word.end - word.at);
		struct arena a;

		if (len >= sizeof text || !is_subject(l, word)) {
			continue;
		}
		memcpy(text, word.at, len);
		text[len] = '\0';
		arena_init(&a);
		const char *path = path_join(&a, l->plan->cwd, text);
		found = path != NULL && plan_visibility(l->plan, path) != VISIBILITY_NONE &&
			faccessat(AT_FDCWD, path, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
		arena_done(&a);
	}
	return found;
}

/* Whether a path in the line was refused for one of the causes of the hint. */
static bool line_names(const struct matcher *l, struct advice *ret) {
	const char *at = l->line.at;
	bool skip = !path_matches_of[l->hint->when].first || first_is_program(l);
	struct span word;

	while (next_word(&at, l->line.end, &word)) {
		bool program = word.at == l->line.at && skip;
		if (word_matches(l, word, program, ret)) {
			return true;
		}
	}
	return false;
}

/* ---- no network ---- */

/* The name that follows the phrase: "Could not resolve host: example.com". */
static bool name_after_phrase(const struct matcher *l, char *out, size_t cap) {
	const char *at = l->phrase.end;
	struct span word;

	while (next_word(&at, l->line.end, &word)) {
		size_t len = (size_t)(word.end - word.at);
		bool name = len < cap && memchr(word.at, '.', len) != NULL;
		for (size_t i = 0; name && i < len; i++) {
			char c = word.at[i];
			name = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
			       (c == '.' && i > 0 && i + 1 < len);
		}
		if (name) {
			memcpy(out, word.at, len);
			out[len] = '\0';
			return true;
		}
	}
	return false;
}

static bool is_before_port(struct span word) {
	static const char *const names[] = {"localhost", "port", "1"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t len = strlen(names[i]);
		if ((size_t)(word.end - word.at) == len && memcmp(word.at, names[i], len) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_loopback4(struct span word) {
	struct ip ip;
	return ip_parse(word.at, (size_t)(word.end - word.at), &ip) && ip_is4(&ip) &&
	       ip.b[12] == 127;
}

/* "127.0.0.1:8080", "[::1]:8080", "localhost port 8080"; 0: the line names none. */
static unsigned port_named(const struct matcher *l) {
	const char *at = l->line.at;
	struct span word;
	bool expected = false;

	while (next_word(&at, l->line.end, &word)) {
		char text[24] = "";
		while (word.at < word.end && *word.at == '/') {
			word.at++; /* of a URL */
		}
		size_t len = (size_t)(word.end - word.at);
		if (expected && len < sizeof text) {
			memcpy(text, word.at, len);
			unsigned long port = strtoul(text, NULL, 10);
			if (port > 0 && port <= UINT16_MAX) {
				return (unsigned)port;
			}
		}
		expected = is_before_port(word) || is_loopback4(word);
	}
	return 0;
}

/* The first address of 127.0.0.0/8 in the line that is not 127.0.0.1: --host-port does not serve
 * it.  False: the line has none. */
static bool other_loopback(const struct matcher *l, char out[IP_TEXT]) {
	const char *at = l->line.at;
	struct span word;
	struct ip ip;

	while (next_word(&at, l->line.end, &word)) {
		while (word.at < word.end && *word.at == '/') {
			word.at++; /* of a URL */
		}
		bool address = ip_parse(word.at, (size_t)(word.end - word.at), &ip);
		if (address && ip_is4(&ip) && ip.b[12] == 127 && !ip_same(&ip, &ip_loopback4)) {
			(void)ip_text(&ip, out);
			return true;
		}
	}
	return false;
}

static bool is_bound(const struct policy *p, enum key_id key, struct advice *ret,
		     const char *reason) {
	const struct value *floor = policy_floor(p, key);
	char origin[128];

	if (floor == NULL) {
		return false;
	}
	(void)snprintf(ret->text, sizeof ret->text, "%s; no option opens it (%s)", reason,
		       policy_origin_text(&floor->origin, origin, sizeof origin));
	return true;
}

static bool advise_offline(const struct matcher *l, struct advice *ret) {
	char name[HOSTNAME_MAX + 1];

	if (!l->plan->own_net) {
		return false;
	}
	if (net_has_names(&l->plan->net)) {
		ret->hint = &hint_unlisted;
	} else if (!is_bound(l->policy, KEY_NET_MODE, ret,
			     "the sandbox has no network (net.mode none)") &&
		   name_after_phrase(l, name, sizeof name)) {
		(void)snprintf(ret->text, sizeof ret->text,
			       "the sandbox has no network (net.mode none); to allow this host: "
			       "--allow-host %s; or download the files before the run",
			       name);
	}
	return true;
}

static bool advise_loopback(const struct matcher *l, struct advice *ret) {
	unsigned port = port_named(l);
	char other[IP_TEXT];

	if (l->plan->own_net && other_loopback(l, other)) {
		char number[12] = "PORT";
		if (port != 0) {
			(void)snprintf(number, sizeof number, "%u", port);
		}
		(void)snprintf(ret->text, sizeof ret->text,
			       "%s is the sandbox's own loopback, and no option passes this "
			       "address; if the host's service listens on 127.0.0.1 too, connect "
			       "to 127.0.0.1:%s with --host-port %s; the host's network: --net "
			       "full",
			       other, number, number);
	} else if (l->plan->own_net && port != 0) {
		(void)snprintf(
			ret->text, sizeof ret->text,
			"127.0.0.1 is the sandbox's own loopback; to reach the service of the "
			"host: --host-port %u",
			port);
	}
	return l->plan->own_net;
}

/* The refused call is not in the message: the hint names the first of the list. */
static bool advise_calls(const struct matcher *l, struct advice *ret) {
	const struct value *v = &l->policy->values[KEY_SECCOMP_EXTRA_DENY];
	char origin[128];

	if (l->plan->denied == NULL || v->count == 0) {
		return false;
	}
	(void)snprintf(ret->text, sizeof ret->text,
		       "the policy refuses the system call %.40s%s (%s); if the command needs it, "
		       "remove it from seccomp.extra_deny; a step that needs root: do it outside",
		       v->items[0].str, v->count > 1 ? " and others" : "",
		       policy_origin_text(&v->items[0].origin, origin, sizeof origin));
	return true;
}

/* ---- the rows ---- */

/* Whether the row applies; fills the advice when it is more precise than the row's text. */
static bool applies(const struct matcher *l, struct advice *ret) {
	switch (l->hint->when) {
	case HINT_ALWAYS:
		return true;
	case HINT_OFFLINE:
		return advise_offline(l, ret);
	case HINT_LOOPBACK:
		return advise_loopback(l, ret);
	case HINT_LIMIT:
		return hint_for_limit(l->plan, l->policy, l->hint, ret);
	case HINT_READ_ONLY:
	case HINT_BUSY:
		(void)line_names(l, ret); /* improves the text; not a condition */
		return true;
	case HINT_CALLS:
		return advise_calls(l, ret);
	case HINT_SHARED:
		return plan_lacks_namespaces(l->plan);
	case HINT_CLOSED:
	case HINT_LOCKED:
		return plan_lacks_namespaces(l->plan) && line_names(l, ret);
	case HINT_DENIED:
	case HINT_PROTECTED:
	case HINT_BESIDE:
	case HINT_UNSEEN:
	case HINT_PRIVATE:
	case HINT_REMOTE:
	case HINT_SOCKET:
		break;
	}
	return line_names(l, ret);
}

static bool stream_matches(struct matcher *l, const struct output_tail *o, struct advice *ret) {
	const char *end = o->text + o->len;
	size_t len = strlen(l->hint->phrase);
	bool nameless = false;

	/* Once a line: applies() searches the whole line. */
	for (const char *at = o->text;
	     (at = memmem(at, (size_t)(end - at), l->hint->phrase, len)) != NULL;
	     at = l->line.end) {
		l->line = line_around(o, at);
		l->phrase = (struct span){at, at + len};
		ret->hint = l->hint;
		bool found = applies(l, ret);
		/* npm prints "EAI_AGAIN" first, and the host in a later line. */
		bool general = l->hint->when == HINT_OFFLINE && ret->hint == l->hint &&
			       ret->text[0] == '\0';
		if (found && !general) {
			return true;
		}
		nameless = nameless || found;
		*ret = (struct advice){0};
	}
	ret->hint = nameless ? l->hint : NULL;
	return nameless;
}

void hint_find(const struct plan *plan, const struct policy *policy,
	       const struct output_tail *const streams[], size_t nstreams, struct advice *ret) {
	*ret = (struct advice){0};
	for (size_t i = 0; i < hints_count; i++) {
		struct matcher l = {.plan = plan, .policy = policy, .hint = &hints[i]};
		for (size_t s = 0; s < nstreams; s++) {
			if (stream_matches(&l, streams[s], ret)) {
				return;
			}
		}
	}
}

void hint_for_link(const struct journal *j, const struct plan *plan, const struct policy *policy,
		   struct advice *ret) {
	enum link_refusal why;
	const char *path = journal_refused_link(j, &why);

	if (path == NULL) {
		return;
	}
	struct refusal_question q = {.plan = plan, .policy = policy, .path = path};
	struct verdict v;
	const struct matcher l = {.hint = &hint_link};
	*ret = (struct advice){.hint = &hint_link};
	refusal_say(&q, why == LINK_DENIED ? CAUSE_HARD_LINK : CAUSE_HARD_LINKS, &v);
	write_verdict(&l, path, &v, ret);
}
