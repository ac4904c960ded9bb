/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of git configuration files: one event per section head or entry.
 *
 * Between two events are only blanks and comments; the events have positions, so that the caller
 * can copy every other byte unchanged. */
#ifndef CORRAL_PLAN_GIT_CONFIG_H
#define CORRAL_PLAN_GIT_CONFIG_H

#include "base/buf.h"

/* Larger files are not read; they are not written by hand. */
#define GIT_CONFIG_MAX ((size_t)1024 * 1024)

enum git_config_event {
	GIT_CONFIG_END,
	GIT_CONFIG_SECTION,
	GIT_CONFIG_ENTRY,
	GIT_CONFIG_BAD, /* a syntax error for git; the next call continues with the next line */
};

struct git_config {
	const char *text;
	size_t len, at;
	struct buf section; /* in lower case */
	struct buf sub;     /* the quoted subsection */
	struct buf key;     /* in lower case */
	struct buf value;   /* without quotes, escapes, comment */
	bool has_sub, has_value;
	size_t start, end;          /* of the event; an entry ends with its line */
	size_t value_at, value_end; /* the value as written */
};

void git_config_init(struct git_config *c, const char *text, size_t len);
void git_config_done(struct git_config *c);

/* The strings are valid until the next call. */
enum git_config_event git_config_next(struct git_config *c);

/* Memory ran out: the result must not be used. */
bool git_config_failed(const struct git_config *c);

/* Whether the entry is section.key, with or without a subsection. */
bool git_config_is(const struct git_config *c, const char *section, const char *key);

/* Writes a value or a subsection quoted, so that git reads the same text. */
void git_config_quote(const char *text, size_t len, struct buf *out);

#endif
