/* SPDX-License-Identifier: Apache-2.0 */
/* Intersects a policy with the requests of an agent's table or of a skill (policy/request.h).
 *
 * Should:   answer each request by name: granted, reduced or refused, with reason and remedy.
 * Must not: widen anything; read a file; depend on who wrote the request.
 * Fails:    closed: a request that is not covered is refused, and the run goes on with less. */
#include "policy/request.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/options.h"
#include "policy/command_rule.h"
#include "policy/cover.h"

#include <stdio.h>

/* The lists that grant, besides paths and hosts; common items are granted. */
static const enum key_id common_lists[] = {
	KEY_NET_PRIVATE, KEY_NET_PUBLISH,         KEY_NET_HOST_PORTS, KEY_NET_SOCKETS,
	KEY_ENV_PASS,    KEY_ENV_ALLOW_DANGEROUS, KEY_ENV_SECRETS,
};

static bool is_common(const struct key *k) {
	for (size_t i = 0; i < ARRAY_LEN(common_lists); i++) {
		if (k == &keys[common_lists[i]]) {
			return true;
		}
	}
	return false;
}

static bool is_grant(const struct key *k) {
	return is_common(k) || k == &keys[KEY_FS_READ] || k == &keys[KEY_FS_WRITE] ||
	       k == &keys[KEY_NET_ALLOW];
}

bool request_agent_may(const struct key *k) {
	return k->narrow != NARROW_NEVER || is_grant(k);
}

bool request_skill_may(const struct key *k) {
	return is_grant(k) || k == &keys[KEY_MODE] || k == &keys[KEY_NET_MODE] ||
	       k->type == TYPE_COMMANDS || str_starts(k->name, "limits.");
}

/* ---- answers ---- */

static const char *item_text(const struct asking *q, enum key_id key, const struct item *it) {
	const char *mark = it->kind == ITEM_SET ? "@" : "";
	/* Of a command its name is requested. */
	int n = key == KEY_COMMANDS ? (int)strcspn(it->str, " ") : (int)strlen(it->str);
	return arena_printf(q->by->a, "%s%.*s%s%s", mark, n, it->str, it->at == NULL ? "" : ":",
			    it->at == NULL ? "" : it->at);
}

static int put_request(struct asking *q, struct request r) {
	struct policy *p = q->p;
	struct request *list = NULL;
	if (q->cap <= p->nrequests) {
		size_t cap = p->nrequests * 2 + 16;
		list = arena_array(q->by->a, cap, sizeof *list);
		if (list == NULL) {
			return err_memory(q->e, "policy");
		}
		for (size_t i = 0; i < p->nrequests; i++) {
			list[i] = p->requests[i];
		}
		p->requests = list;
		q->cap = cap;
	}
	r.asker = q->by->name;
	if (r.text == NULL) {
		return err_memory(q->e, "policy");
	}
	p->requests[p->nrequests++] = r;
	return 0;
}

int request_granted(struct asking *q, enum key_id key, const struct item *it) {
	return put_request(q, (struct request){.key = key,
					       .text = item_text(q, key, it),
					       .origin = it->origin,
					       .answer = REQUEST_GRANTED});
}

int request_refused(struct asking *q, enum key_id key, const struct item *it, const char *why,
		    const char *fix) {
	if (why == NULL) {
		return err_memory(q->e, "policy");
	}
	return put_request(q, (struct request){.key = key,
					       .text = item_text(q, key, it),
					       .origin = it->origin,
					       .answer = REQUEST_REFUSED,
					       .why = why,
					       .fix = fix});
}

int request_reduced(struct asking *q, enum key_id key, const struct item *it, const char *given,
		    const char *why) {
	given = arena_strdup(q->by->a, given);
	return given == NULL || why == NULL
		       ? err_memory(q->e, "policy")
		       : put_request(q, (struct request){.key = key,
							 .text = item_text(q, key, it),
							 .given = given,
							 .why = why,
							 .origin = it->origin,
							 .answer = REQUEST_REDUCED});
}

const char *request_option(const struct asking *q, enum key_id key, const struct item *it) {
	const char *text = item_text(q, key, it);
	for (size_t i = 0; text != NULL && i < options_count; i++) {
		if (options[i].id == OPTION_SETS_KEY && options[i].key == key) {
			return arena_printf(q->by->a, "to grant it: --%s %s", options[i].name,
					    text);
		}
	}
	return NULL;
}

/* ---- numbers, choices and switches ---- */

static int narrow_scalar(struct asking *q, enum key_id key) {
	const struct value *v = &q->layer->values[key];
	struct value *stands = &q->p->values[key];
	char num[48], low[48], from[SHOWN_MAX];
	struct item asked = {.str = number_value(&keys[key], v->num, num, sizeof num),
			     .origin = v->origin};
	if (!stands->set || !layer_loosens(&keys[key], v, stands)) {
		*stands = *v;
		return request_granted(q, key, &asked);
	}
	const char *given = number_value(&keys[key], stands->num, low, sizeof low);
	return request_reduced(
		q, key, &asked, given,
		arena_printf(q->by->a, "the policy sets %s (%s)", given,
			     policy_origin_text(&stands->origin, from, sizeof from)));
}

/* net.mode and commands.default have functions of their own. */
static int narrow_scalars(struct asking *q) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		bool ordered = keys[i].narrow == NARROW_LOWER || keys[i].narrow == NARROW_HIGHER;
		if (!q->layer->values[i].set || !ordered || i == KEY_NET_MODE ||
		    i == KEY_COMMANDS_DEFAULT) {
			continue;
		}
		if (narrow_scalar(q, (enum key_id)i) != 0) {
			return -1;
		}
	}
	/* Without a boundary a list would narrow nothing. */
	struct value *mode = &q->p->values[KEY_MODE];
	if (q->by->closed && mode->num == MODE_FULL_ACCESS) {
		mode->num = MODE_WORKSPACE_WRITE;
		mode->origin = (struct origin){.kind = ORIGIN_SKILL, .name = q->by->name};
	}
	/* Paths of fs.write can still be read. */
	struct value *write = &q->p->values[KEY_FS_WRITE];
	if (mode->num == MODE_READ_ONLY && write->count > 0) {
		if (layer_list_add(q->by->a, &keys[KEY_FS_READ], &q->p->values[KEY_FS_READ], write,
				   q->e) != 0) {
			return -1;
		}
		write->count = 0;
	}
	return 0;
}

/* ---- lists ---- */

static bool is_session_socket(enum key_id key, const struct item *it) {
	return key == KEY_NET_SOCKETS && it->origin.kind == ORIGIN_OPTION &&
	       streq(it->origin.name, SESSION_ORIGIN);
}

static const struct item *find_cover(const struct value *base, enum key_id key,
				     const struct item *it) {
	for (size_t i = 0; i < base->count; i++) {
		if (cover_item(&keys[key], it, &base->items[i])) {
			return &base->items[i];
		}
	}
	return NULL;
}

/* The names of an agent's secrets are in the vault: which of them a skill gets is decided there. */
static int name_agent_secret(struct asking *q, const struct item *it) {
	if (arena_grow(q->by->a, &q->p->agent_secrets, q->p->nagent_secrets,
		       &q->p->agent_secrets_cap, sizeof *q->p->agent_secrets) != 0) {
		return err_memory(q->e, "policy");
	}
	q->p->agent_secrets[q->p->nagent_secrets++] = it->str;
	return request_granted(q, KEY_ENV_SECRETS, it);
}

static int common_item(struct asking *q, enum key_id key, const struct item *it,
		       struct value *ret) {
	const struct item *cover = find_cover(&q->base->values[key], key, it);
	if (cover == NULL && key == KEY_ENV_SECRETS && q->by->closed &&
	    q->base->values[KEY_ENV_AGENT].set && strchr(it->str, '=') == NULL) {
		return name_agent_secret(q, it);
	}
	if (cover == NULL) {
		return request_refused(
			q, key, it,
			arena_printf(q->by->a, "%s of the policy does not list it", keys[key].name),
			request_option(q, key, it));
	}
	struct item given = *cover;
	given.str = it->str; /* a smaller network, or the same text */
	given.origin = it->origin;
	return value_put(q->by->a, &keys[key], ret, &given, q->e) != 0
		       ? -1
		       : request_granted(q, key, it);
}

static int common_items(struct asking *q, enum key_id key) {
	const struct value *asked = &q->layer->values[key], *base = &q->base->values[key];
	struct value given = {.set = base->set, .origin = base->origin};
	if (!asked->set && !q->by->closed) {
		return 0;
	}
	for (size_t i = 0; i < base->count; i++) {
		if (is_session_socket(key, &base->items[i]) &&
		    value_put(q->by->a, &keys[key], &given, &base->items[i], q->e) != 0) {
			return -1;
		}
	}
	for (size_t i = 0; i < asked->count; i++) {
		if (common_item(q, key, &asked->items[i], &given) != 0) {
			return -1;
		}
	}
	q->p->values[key] = given;
	return 0;
}

/* A denied path is not granted any more; without this the two would be a contradiction. */
static void drop_denied(struct value *granted, const struct value *deny) {
	size_t kept = 0;
	for (size_t i = 0; i < granted->count; i++) {
		bool denied = false;
		for (size_t n = 0; n < deny->count && !denied; n++) {
			denied = deny->items[n].kind == ITEM_PLAIN &&
				 streq(deny->items[n].str, granted->items[i].str);
		}
		if (!denied) {
			granted->items[kept++] = granted->items[i];
		}
	}
	granted->count = kept;
}

/* Lists that restrict, and the command's variables and directory: of an agent's table only. */
static int add_restrictions(struct asking *q) {
	drop_denied(&q->p->values[KEY_FS_READ], &q->layer->values[KEY_FS_DENY]);
	drop_denied(&q->p->values[KEY_FS_WRITE], &q->layer->values[KEY_FS_DENY]);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct value *v = &q->layer->values[i];
		bool free = keys[i].narrow == NARROW_FREE;
		if (!v->set || (keys[i].narrow != NARROW_ADD && !free)) {
			continue;
		}
		if (!value_key_is_list(&keys[i])) {
			q->p->values[i] = *v;
		} else if (layer_list_add(q->by->a, &keys[i], &q->p->values[i], v, q->e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- commands ---- */

static bool is_permitted(const struct policy *p, const struct command_rule *r) {
	return p->values[KEY_COMMANDS_DEFAULT].num == COMMANDS_ALLOW ||
	       command_rule_lists(p, r->name, r->name_len);
}

/* All rules about the command that stand, and that it is listed. */
static int keep_command(struct asking *q, const struct command_rule *asked, struct value *ret) {
	const struct value *stand = &q->base->values[KEY_COMMANDS];
	struct item listed = {.origin = asked->item->origin};
	listed.str = arena_strndup(q->by->a, asked->name, asked->name_len);
	if (listed.str == NULL) {
		return err_memory(q->e, "policy");
	}
	for (size_t i = 0; i < stand->count; i++) {
		struct command_rule r = command_rule_of(&stand->items[i]);
		if (command_rule_is_for(&r, asked->name, asked->name_len) &&
		    value_put(q->by->a, &keys[KEY_COMMANDS], ret, &stand->items[i], q->e) != 0) {
			return -1;
		}
	}
	return value_put(q->by->a, &keys[KEY_COMMANDS], ret, &listed, q->e);
}

/* With commands.default = deny, or in a skill, the listed commands are all. */
static int only_commands(struct asking *q) {
	const struct value *asked = &q->layer->values[KEY_COMMANDS];
	struct value *deny = &q->p->values[KEY_COMMANDS_DEFAULT], given = {.set = true};
	for (size_t i = 0; i < asked->count; i++) {
		struct command_rule r = command_rule_of(&asked->items[i]);
		if (r.kind != COMMAND_LISTED) {
			continue;
		}
		if (!is_permitted(q->base, &r)) {
			if (request_refused(q, KEY_COMMANDS, r.item,
					    "commands.default is deny, and the policy does not "
					    "list the command",
					    request_option(q, KEY_COMMANDS, r.item)) != 0) {
				return -1;
			}
			continue;
		}
		if (keep_command(q, &r, &given) != 0 ||
		    request_granted(q, KEY_COMMANDS, r.item) != 0) {
			return -1;
		}
	}
	deny->num = COMMANDS_DENY;
	deny->set = true;
	deny->origin = given.origin =
		asked->set ? asked->origin : q->layer->values[KEY_COMMANDS_DEFAULT].origin;
	if (settle_value(q->by->a, &keys[KEY_COMMANDS], &given, q->e) != 0) {
		return -1;
	}
	q->p->values[KEY_COMMANDS] = given;
	return 0;
}

/* Blocked patterns hold in every case. */
static int block_commands(struct asking *q) {
	const struct value *asked = &q->layer->values[KEY_COMMANDS];
	for (size_t i = 0; i < asked->count; i++) {
		if (command_rule_of(&asked->items[i]).kind == COMMAND_BLOCKED &&
		    value_put(q->by->a, &keys[KEY_COMMANDS], &q->p->values[KEY_COMMANDS],
			      &asked->items[i], q->e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int narrow_commands(struct asking *q) {
	const struct value *asked = &q->layer->values[KEY_COMMANDS];
	const struct value *verdict = &q->layer->values[KEY_COMMANDS_DEFAULT];
	bool denies = verdict->set && verdict->num == COMMANDS_DENY;
	if (denies || (q->by->closed && asked->set)) {
		if (only_commands(q) != 0) {
			return -1;
		}
	}
	return block_commands(q);
}

/* ---- all of it ---- */

/* A refusal is also a warning of the run. */
static int add_remarks(struct asking *q, size_t first) {
	struct policy *p = q->p;
	const char **list = arena_array(q->by->a, p->nremarks + p->nrequests + 1, sizeof *list);
	size_t n = 0;
	for (; list != NULL && n < p->nremarks; n++) {
		list[n] = p->remarks[n];
	}
	for (size_t i = first; list != NULL && i < p->nrequests; i++) {
		const struct request *r = &p->requests[i];
		char from[SHOWN_MAX], text[SHOWN_MAX];
		if (r->answer != REQUEST_REFUSED) {
			continue;
		}
		list[n] = arena_printf(q->by->a, "%s does not get %s %s (%s): %s%s%s", r->asker,
				       request_key(r), value_shown(r->text, text, sizeof text),
				       policy_origin_text(&r->origin, from, sizeof from), r->why,
				       r->fix == NULL ? "" : "; ", r->fix == NULL ? "" : r->fix);
		if (list[n++] == NULL) {
			return err_memory(q->e, "policy");
		}
	}
	if (list == NULL) {
		return err_memory(q->e, "policy");
	}
	p->remarks = list;
	p->nremarks = n;
	return 0;
}

int request_apply(const struct asker *by, const struct policy *layer, struct policy *p,
		  struct err *e) {
	struct policy *base = arena_alloc(by->a, sizeof *base);
	struct asking q = {.by = by, .layer = layer, .p = p, .base = base, .e = e};
	size_t first = p->nrequests;
	if (base == NULL) {
		return err_memory(e, "policy");
	}
	bool unbounded = p->values[KEY_MODE].num == MODE_FULL_ACCESS;
	if (narrow_scalars(&q) != 0) {
		return -1;
	}
	*base = *p;
	if (unbounded) {
		base->values[KEY_MODE].num = MODE_FULL_ACCESS; /* it grants every path */
	}
	p->agent_secrets_bound = p->agent_secrets_bound || by->closed;
	for (size_t i = 0; i < ARRAY_LEN(common_lists); i++) {
		if (common_items(&q, common_lists[i]) != 0) {
			return -1;
		}
	}
	return request_paths(&q) != 0 || request_net(&q) != 0 || narrow_commands(&q) != 0 ||
			       add_restrictions(&q) != 0 || add_remarks(&q, first) != 0
		       ? -1
		       : 0;
}
