/* The part of git's configuration syntax that a [user] section needs.
 *
 * Should:   read as git does: quotes, escapes, comments, continued lines; case
 *           of names ignored.
 * Must not: take a value with a control character, or one that is cut short.
 * Fails:    open: what cannot be read is not there, and git says so itself. */
#include "plan/identity.h"

#include "base/auto.h"
#include "base/str.h"

#include <strings.h>

static const char *skip(const char *p, const char *these) {
	return p + strspn(p, these);
}

static const char *line_end(const char *p) {
	return p + strcspn(p, "\n");
}

struct entry {
	char text[IDENTITY_MAX];
	size_t len;
	bool bad;
};

static void entry_add(struct entry *s, char c) {
	if (s->len + 1 >= sizeof s->text || (unsigned char)c < ' ' || c == 0x7f) {
		s->bad = true;
		return;
	}
	s->text[s->len++] = c;
}

/* What follows a backslash; returns what follows that. */
static const char *read_escape(const char *p, struct entry *s) {
	if (*p == '\n') {
		return p + 1; /* the line goes on */
	}
	s->bad = s->bad || (*p != '"' && *p != '\\'); /* the others are controls or errors */
	if (!s->bad) {
		entry_add(s, *p);
	}
	return *p == '\0' ? p : p + 1;
}

/* From behind "=" to the end of its line. */
static const char *read_entry(const char *p, struct entry *s) {
	bool quoted = false;
	size_t end = 0; /* blanks at the end count only in quotes */

	*s = (struct entry){0};
	for (p = skip(p, " \t"); *p != '\0' && *p != '\n';) {
		char c = *p++;
		if (!quoted && (c == '#' || c == ';')) {
			p = line_end(p);
		} else if (c == '"') {
			quoted = !quoted;
			end = s->len;
		} else if (c == '\\') {
			p = read_escape(p, s);
			end = s->len;
		} else if (!quoted && (c == ' ' || c == '\t' || c == '\r')) {
			entry_add(s, ' ');
		} else {
			entry_add(s, c);
			end = s->len;
		}
	}
	s->bad = s->bad || quoted;
	s->text[end] = '\0';
	return p;
}

static char *field(struct identity *id, const char *key, size_t len) {
	if (len == strlen("name") && strncasecmp(key, "name", len) == 0) {
		return id->name;
	}
	return len == strlen("email") && strncasecmp(key, "email", len) == 0 ? id->email : NULL;
}

/* A section's head at p; true in *ours when it is [user]. */
static const char *read_section(const char *p, bool *ours) {
	static const char user[] = "[user]";

	*ours = strncasecmp(p, user, strlen(user)) == 0;
	return p + strcspn(p, "]\n") + (p[strcspn(p, "]\n")] == ']');
}

void identity_read(struct identity *id, const char *text) {
	bool ours = false;

	for (const char *p = skip(text, " \t\r\n"); *p != '\0'; p = skip(p, " \t\r\n")) {
		if (*p == '[') {
			p = read_section(p, &ours);
			continue;
		}
		const char *key = p;
		size_t len = strcspn(p, " \t\r\n=#;");
		p = skip(p + len, " \t");
		if (*p != '=') {
			p = line_end(p);
			continue;
		}
		struct entry s;
		p = read_entry(p + 1, &s);
		char *slot = ours ? field(id, key, len) : NULL;
		if (slot != NULL && !s.bad) {
			memcpy(slot, s.text, sizeof s.text);
		}
	}
}

static void put(struct buf *out, const char *key, const char *text) {
	if (text[0] == '\0') {
		return;
	}
	buf_printf(out, "\t%s = \"", key);
	for (; *text != '\0'; text++) {
		buf_printf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	}
	buf_puts(out, "\"\n");
}

void identity_write(const struct identity *id, struct buf *out) {
	buf_puts(out, "[include]\n\tpath = /etc/gitconfig\n[user]\n");
	put(out, "name", id->name);
	put(out, "email", id->email);
}
