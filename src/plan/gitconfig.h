/* A configuration file of git, one thing after the other.
 *
 * What lies between two events is blanks and comments; positions are given, so
 * that a reader can keep every other byte as it is. */
#ifndef CORRAL_PLAN_GITCONFIG_H
#define CORRAL_PLAN_GITCONFIG_H

#include "base/buf.h"

/* Larger files are not read; nobody writes one by hand. */
#define GITCONFIG_MAX ((size_t)1024 * 1024)

enum gitconfig_event {
	GITCONFIG_END,
	GITCONFIG_SECTION,
	GITCONFIG_ENTRY,
	GITCONFIG_BAD, /* git would stop here; the next call goes on with the next line */
};

struct gitconfig {
	const char *text;
	size_t len, at;
	struct buf section; /* in lower case */
	struct buf sub;     /* what stands in quotes after it */
	struct buf key;     /* in lower case */
	struct buf value;   /* without quotes, escapes, comment */
	bool has_sub, has_value;
	size_t start, end;          /* of the event; an entry ends with its line */
	size_t value_at, value_end; /* the value as written */
};

void gitconfig_init(struct gitconfig *c, const char *text, size_t len);
void gitconfig_done(struct gitconfig *c);

/* The strings hold until the next call. */
enum gitconfig_event gitconfig_next(struct gitconfig *c);

/* Memory ran out: what was read is not to be used. */
bool gitconfig_failed(const struct gitconfig *c);

/* Whether the entry is section.key, with or without something between them. */
bool gitconfig_is(const struct gitconfig *c, const char *section, const char *key);

/* A value, or what stands in quotes in a section's head, in a form that reads the same. */
void gitconfig_quote(const char *text, size_t len, struct buf *out);

#endif
