/* A configuration file of git, one thing after the other.
 *
 * What lies between two events is blanks and comments; positions are given, so
 * that a reader can keep every other byte as it is. */
#ifndef CORRAL_PLAN_GIT_CONFIG_H
#define CORRAL_PLAN_GIT_CONFIG_H

#include "base/buf.h"

/* Larger files are not read; nobody writes one by hand. */
#define GITCONFIG_MAX ((size_t)1024 * 1024)

enum gitconfig_event {
	GITCONFIG_END,
	GITCONFIG_SECTION,
	GITCONFIG_ENTRY,
	GITCONFIG_BAD, /* git would stop here; the next call goes on with the next line */
};

struct git_config {
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

void git_config_init(struct git_config *c, const char *text, size_t len);
void git_config_done(struct git_config *c);

/* The strings hold until the next call. */
enum gitconfig_event git_config_next(struct git_config *c);

/* Memory ran out: what was read is not to be used. */
bool git_config_failed(const struct git_config *c);

/* Whether the entry is section.key, with or without something between them. */
bool git_config_is(const struct git_config *c, const char *section, const char *key);

/* A value, or what stands in quotes in a section's head, in a form that reads the same. */
void git_config_quote(const char *text, size_t len, struct buf *out);

#endif
