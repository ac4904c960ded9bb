#include "run/hint.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>

void overhear(struct overheard *o, const char *data, size_t len) {
	if (len >= OVERHEAR_MAX) {
		memcpy(o->text, data + (len - OVERHEAR_MAX), OVERHEAR_MAX);
		o->len = OVERHEAR_MAX;
		return;
	}
	if (len > OVERHEAR_MAX - o->len) {
		size_t stay = OVERHEAR_MAX - len;
		memmove(o->text, o->text + (o->len - stay), stay);
		o->len = stay;
	}
	memcpy(o->text + o->len, data, len);
	o->len += len;
}

/* ---- the words of a line ---- */

struct span {
	const char *at, *end;
};

static struct span line_around(const struct overheard *o, const char *at) {
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

/* Bytes that end a word: what programs put around a path, typographic quotes
 * (E2 80 98, …) among them, and what no terminal should be sent. */
static bool ends_word(const char *p, const char *end) {
	unsigned char c = (unsigned char)*p;
	bool quote = end - p >= 3 && memcmp(p, "\xe2\x80", 2) == 0 && (unsigned char)p[2] >= 0x98 &&
		     (unsigned char)p[2] <= 0x9f;

	return quote || c <= ' ' || c == 0x7f || strchr("'\"`:,;()[]<>=", c) != NULL;
}

/* The next word at or after *at, which moves behind it; false at the end. */
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

static bool sight_matches(enum hint_when when, enum sight sight) {
	switch (when) {
	case HINT_DENIED:
		return sight == SIGHT_DENIED;
	case HINT_UNSEEN:
		return sight == SIGHT_NONE;
	case HINT_PRIVATE:
		return sight == SIGHT_PRIVATE;
	case HINT_READ_ONLY:
	case HINT_LOCKED:
		return sight == SIGHT_READ || sight == SIGHT_NONE;
	case HINT_CLOSED:
		return sight == SIGHT_NONE;
	case HINT_ALWAYS:
	case HINT_OFFLINE:
	case HINT_LOOPBACK:
	case HINT_SHARED:
		break;
	}
	return false;
}

/* Whether the word is a path of the kind; only a hidden file is looked for by a
 * relative name as well, because any word is one. */
static bool word_matches(const struct plan *plan, enum hint_when when, struct span word,
			 struct advice *ret) {
	char text[sizeof ret->path];
	size_t len = (size_t)(word.end - word.at);
	struct arena a;
	bool found = false;

	bool upward = len > 3 && strncmp(word.at, "../", 3) == 0;
	if (len >= sizeof text || (*word.at != '/' && !upward && when != HINT_DENIED)) {
		return false;
	}
	memcpy(text, word.at, len);
	text[len] = '\0';
	arena_init(&a);
	const char *path = path_join(&a, plan->cwd, text);
	if (path != NULL && strlen(path) < sizeof ret->path) {
		found = sight_matches(when, plan_sight(plan, path));
		(void)snprintf(ret->path, sizeof ret->path, "%s", found ? path : "");
	}
	arena_done(&a);
	return found;
}

/* Whether the line names a path of the kind.  What stands first in a line is
 * usually the program that speaks, which is neither hidden nor out of view. */
static bool line_names(const struct plan *plan, enum hint_when when, struct span line,
		       struct advice *ret) {
	const char *at = line.at;
	struct span word;

	while (next_word(&at, line.end, &word)) {
		bool speaker =
			word.at == line.at &&
			(when == HINT_PRIVATE || when == HINT_READ_ONLY || when == HINT_LOCKED);
		if (!speaker && word_matches(plan, when, word, ret)) {
			return true;
		}
	}
	return false;
}

/* ---- the rows ---- */

static bool applies(const struct plan *plan, enum hint_when when, struct span line,
		    struct advice *ret) {
	switch (when) {
	case HINT_ALWAYS:
		return true;
	case HINT_OFFLINE:
	case HINT_LOOPBACK:
		return plan->own_net;
	case HINT_READ_ONLY:
		(void)line_names(plan, when, line, ret); /* a better answer, not a condition */
		return true;
	case HINT_SHARED:
		return plan_shares(plan);
	case HINT_CLOSED:
	case HINT_LOCKED:
		return plan_shares(plan) && line_names(plan, when, line, ret);
	case HINT_DENIED:
	case HINT_UNSEEN:
	case HINT_PRIVATE:
		break;
	}
	return line_names(plan, when, line, ret);
}

static bool heard(const struct plan *plan, const struct hint *h, const struct overheard *o,
		  struct advice *ret) {
	const char *end = o->text + o->len;
	size_t len = strlen(h->phrase);

	for (const char *at = o->text;
	     (at = memmem(at, (size_t)(end - at), h->phrase, len)) != NULL; at += len) {
		if (applies(plan, h->when, line_around(o, at), ret)) {
			bool gate = h->when == HINT_OFFLINE && plan->net.gate;
			ret->hint = gate ? &hint_unlisted : h;
			return true;
		}
	}
	return false;
}

void advise(const struct plan *plan, const struct overheard *const streams[], size_t nstreams,
	    struct advice *ret) {
	*ret = (struct advice){0};
	for (size_t i = 0; i < hints_count; i++) {
		for (size_t s = 0; s < nstreams; s++) {
			if (heard(plan, &hints[i], streams[s], ret)) {
				return;
			}
		}
	}
}

void advise_link(const struct journal *j, struct advice *ret) {
	enum link_refusal why;
	const char *path = journal_refused_link(j, &why);

	if (path != NULL) {
		*ret = (struct advice){.hint = why == LINK_DENIED ? &hint_link_denied
								  : &hint_link_unknown};
		(void)snprintf(ret->path, sizeof ret->path, "%s", path);
	}
}

/* ---- what the gate saw ---- */

static bool is_said(const char *word, const struct overheard *const streams[], size_t nstreams) {
	for (size_t i = 0; word != NULL && i < nstreams; i++) {
		if (memmem(streams[i]->text, streams[i]->len, word, strlen(word)) != NULL) {
			return true;
		}
	}
	return false;
}

/* The first of those that the words name; else the first of all: what comes later is often a
 * second try, or the name with a search domain behind it. */
static const struct netlog_item *refusal(const struct netlog *n,
					 const struct overheard *const streams[], size_t nstreams,
					 bool *ret_said) {
	const struct netlog_item *first = NULL;

	*ret_said = false;
	for (size_t i = 0; i < n->count; i++) {
		const struct netlog_item *item = &n->items[i];
		if (item->outcome != NET_DENIED) {
			continue;
		}
		if (is_said(item->name, streams, nstreams) ||
		    is_said(item->address, streams, nstreams)) {
			*ret_said = true;
			return item;
		}
		first = first == NULL ? item : first;
	}
	return first;
}

/* Where a rule let it through, it was the other side that did not: no rule is to blame. */
static bool has_failed(const struct netlog *n) {
	for (size_t i = 0; i < n->count; i++) {
		if (n->items[i].outcome == NET_FAILED) {
			return true;
		}
	}
	return false;
}

static void write_refusal(const char *place, const struct netlog_item *item, struct advice *ret) {
	const char *why = item->why == NULL ? "refused" : item->why;

	*ret = (struct advice){.hint = item->rule == NULL ? &hint_unlisted : &hint_forbidden};
	if (item->unread && item->remedy != NULL) {
		(void)snprintf(ret->text, sizeof ret->text,
			       "%s: %s; speak TLS with the server's name, or list the address, at "
			       "which nobody looks: %s",
			       place, why, item->remedy);
	} else if (item->rule != NULL) {
		(void)snprintf(ret->text, sizeof ret->text,
			       "%s: %s (the rule is %s); corral explain shows the rules", place,
			       why, item->rule);
	} else {
		(void)snprintf(ret->text, sizeof ret->text, "%s: %s%s%s", place, why,
			       item->remedy == NULL ? "" : "; ",
			       item->remedy == NULL ? "" : item->remedy);
	}
}

void advise_network(const struct netlog *n, const struct overheard *const streams[],
		    size_t nstreams, struct advice *ret) {
	bool said, other = ret->hint != NULL && strncmp(ret->hint->rule, "net.", 4) != 0;
	const struct netlog_item *item = refusal(n, streams, nstreams, &said);
	struct arena a;

	if (item == NULL && !other && has_failed(n)) {
		*ret = (struct advice){0};
	}
	if (item == NULL || (other && !said)) {
		return;
	}
	arena_init(&a);
	const char *place = netlog_place(&a, item);
	if (place != NULL) {
		write_refusal(place, item, ret);
	}
	arena_done(&a);
}

const char *advice_text(const struct advice *a) {
	return a->text[0] != '\0' ? a->text : a->hint->text;
}
