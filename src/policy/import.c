/* SPDX-License-Identifier: Apache-2.0 */
/* Prints another product's configuration as a policy file (`corral policy import`).
 *
 * Should:   print each value with the setting that it comes from, and name every setting that has
 *           no equivalent.
 * Must not: print a credential.
 * Fails:    closed: a value of the wrong type is an error. */
#include "policy/internal.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "data/foreign.h"
#include "policy/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

static void put_doc(struct buf *out, const struct doc *d) {
	switch (d->type) {
	case DOC_ARRAY:
		buf_puts(out, "[");
		for (const struct doc *m = d->first; m != NULL; m = m->next) {
			put_doc(out, m);
			buf_puts(out, m->next == NULL ? "" : ", ");
		}
		buf_puts(out, "]");
		break;
	case DOC_INT:
		buf_printf(out, "%" PRId64, d->num);
		break;
	case DOC_BOOL:
		buf_puts(out, d->yes ? "true" : "false");
		break;
	case DOC_FLOAT:
		buf_printf(out, "%g", d->real);
		break;
	default:
		print_quoted(out, d->str == NULL ? "" : d->str);
		break;
	}
}

static void put_comment(struct buf *out, const struct foreign_line *l) {
	char from[80];
	buf_puts(out, value_shown(l->from, from, sizeof from));
	if (l->line > 0) {
		buf_printf(out, ", line %d", l->line);
	}
	if (l->why != NULL) {
		char why[200];
		buf_printf(out, ": %s", value_shown(l->why, why, sizeof why));
	}
	buf_puts(out, "\n");
}

/* Bare where TOML allows it. */
static void put_name(struct buf *out, const char *name) {
	bool bare =
		name[0] != '\0' &&
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
			strlen(name);
	if (bare) {
		buf_puts(out, name);
	} else {
		print_quoted(out, name);
	}
}

static bool is_command(const struct foreign_line *l) {
	return l->key != NULL && str_starts(l->key, "commands.") &&
	       !streq(l->key, "commands.default");
}

/* Rules of commands are tables of their own, which TOML wants after all other keys. */
static void print_values(const struct foreign *f, bool commands, struct buf *out) {
	for (size_t i = 0; i < f->nlines; i++) {
		const struct foreign_line *l = &f->lines[i];
		if (l->kind != FOREIGN_VALUE || is_command(l) != commands) {
			continue;
		}
		if (l->value->type == DOC_TABLE) {
			buf_puts(out, "\n[commands.");
			put_name(out, l->key + strlen("commands."));
			buf_puts(out, "]");
		} else {
			const char *dot = strrchr(l->key, '.');
			buf_puts(out, commands && dot != NULL ? dot + 1 : l->key);
			buf_puts(out, " = ");
			put_doc(out, l->value);
		}
		buf_puts(out, "  # ");
		put_comment(out, l);
	}
}

static void print_others(const struct foreign *f, struct buf *out) {
	static const char *const heads[] = {
		[FOREIGN_VALUE] = NULL,
		[FOREIGN_NEEDED] = "# not needed: ",
		[FOREIGN_SECRET] = "# not imported: ",
		[FOREIGN_LOST] = "# no equivalent: ",
	};
	for (size_t i = 0; i < f->nlines; i++) {
		if (f->lines[i].kind != FOREIGN_VALUE) {
			buf_puts(out, heads[f->lines[i].kind]);
			put_comment(out, &f->lines[i]);
		}
	}
}

/* The types of all values; the rules of commands have no row. */
static int check_values(struct arena *a, const char *path, const struct foreign *f, struct err *e) {
	struct where w = {.a = a,
			  .origin = {.kind = ORIGIN_FILE, .name = path},
			  .cwd = "/",
			  .base = "/",
			  .home = "/"};
	for (size_t i = 0; i < f->nlines; i++) {
		const struct foreign_line *l = &f->lines[i];
		const struct key *k = l->kind == FOREIGN_VALUE ? key_by_name(l->key) : NULL;
		struct value scratch = {0};
		if (k != NULL && k != &keys[KEY_COMMANDS_DEFAULT] &&
		    value_from_doc(&w, k, l->value, &scratch, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int read_file(const char *path, struct buf *text, struct err *e) {
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? policy_file_error(e, path, errno)
		      : policy_file_read(fd, path, true, text, e);
}

int policy_import(struct arena *a, const char *path, const char *agent, struct buf *out,
		  struct err *e) {
	struct foreign f;
	auto_buf text = {0};
	char shown[SHOWN_MAX];
	if (read_file(path, &text, e) != 0 ||
	    foreign_parse(a, &(struct foreign_text){path, text.data, text.len, agent}, &f, e) !=
		    0) {
		return -1;
	}
	if (f.nsections == 0) {
		(void)err_set(e, ERR_USAGE, "policy",
			      "%s has no section that can be imported: [agents.sandbox], sandbox, "
			      "session_limits, api_keys, commands",
			      value_shown(path, shown, sizeof shown));
		return err_fix(e, "for a policy of Corral: corral policy check FILE");
	}
	if (check_values(a, path, &f, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < f.nsections; i++) {
		buf_printf(out, "# from %s of %s\n", f.sections[i]->what,
			   value_shown(path, shown, sizeof shown));
		if (f.sections[i]->differs != NULL) {
			buf_printf(out, "# differs: %s\n", f.sections[i]->differs);
		}
	}
	print_others(&f, out);
	print_values(&f, false, out);
	print_values(&f, true, out);
	return 0;
}
