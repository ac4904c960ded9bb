/* Making links.  A command may make one with any words; a tool makes those alone
 * that lead to something inside, because others outside may follow them. */
#include "files/tools.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Where the words lead from the directory that holds the link, there or not. */
static int check_words(const struct lens *v, const struct place *p, const char *words,
		       struct err *e) {
	char path[2 * PATH_MAX];
	struct place to;

	if (words[0] == '\0' || strlen(words) >= PATH_MAX) {
		return err_set(e, ERR_USAGE, "files", "the words of a link are empty or too long");
	}
	/* The link is not there yet, so its directory is named by itself. */
	int dir = words[0] == '/' ? 0 : (int)(strrchr(p->path, '/') - p->path);
	(void)snprintf(path, sizeof path, "%.*s/%s", dir, p->path, words); /* it fits */
	if (place_allowed(v, path, 0, ACCESS_READ, &to, e) != 0) {
		return -1;
	}
	place_done(&to);
	return 0;
}

int tool_symlink(const struct lens *v, const char *words, const char *path, struct err *e) {
	struct place p;

	if (place_allowed(v, path, WALK_STAY, ACCESS_WRITE, &p, e) != 0) {
		return -1;
	}
	int rc = 0;
	if (p.kind != PLACE_MISSING) {
		rc = place_failed(EEXIST, "make the link", p.path, e);
	} else if (p.dir < 0) {
		rc = place_failed(ENOENT, "make the link", p.path, e);
	} else if (check_words(v, &p, words, e) != 0) {
		rc = -1;
	} else if (rules_lead_astray(&v->plan->rules, p.path, words)) {
		rc = place_failed(EBUSY, "make the link", p.path, e); /* as a command is told */
	} else if (symlinkat(words, p.dir, p.name) != 0) {
		rc = place_failed(errno, "make the link", p.path, e);
	}
	place_done(&p);
	return rc;
}
