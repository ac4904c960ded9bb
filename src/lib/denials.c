/* SPDX-License-Identifier: Apache-2.0 */
/* The denials of a run in its result: through the API, and as JSON.
 *
 * Should:   list the refusals of files and sockets, then those of the gate, each with its rule and
 *           the option that would allow it.
 * Must not: present an empty list as "nothing was refused" where nothing was recorded:
 *           "denials_recorded" distinguishes them.
 * Fails:    as emit.c: out of memory the whole object fails. */
#include "lib/internal.h"

#include "base/emit.h"
#include "base/errno_name.h"
#include "lib/sized.h"

static struct corral_denial denial_of_file(const struct denial *d) {
	return (struct corral_denial){
		.op = d->call != NULL ? d->call : denial_ops[d->op].op,
		.access = denial_ops[d->op].access,
		.path = d->path,
		.resolved = d->resolved,
		.host = d->host,
		.limit = d->limit,
		.value = d->value,
		.errno_name = d->error == 0 ? NULL : errno_name(d->error),
		.rule = d->rule,
		.origin = d->origin,
		.why = d->why,
		.remedy = d->remedy,
		.allow_with = d->allow_with,
		.sensitive = d->sensitive,
		.count = d->count,
	};
}

static struct corral_denial denial_of_gate(const struct netlog_item *item) {
	return (struct corral_denial){
		.op = netlog_op_name(item->op),
		.access = "network",
		.host = item->name != NULL ? item->name : item->address,
		.port = item->port,
		/* A lookup has no errno, and a request is refused after connect() succeeded. */
		.errno_name = item->op == NET_OP_CONNECT ? "EACCES" : NULL,
		.rule = item->rule,
		.why = item->why,
		.allow_with = item->remedy,
		.count = item->count,
	};
}

/* The n-th decision of the gate that refused. */
static const struct netlog_item *refused(const struct netlog *log, size_t n) {
	for (size_t i = 0; i < log->count; i++) {
		if (log->items[i].outcome == NET_DENIED && n-- == 0) {
			return &log->items[i];
		}
	}
	return NULL;
}

bool denials_get(const struct outcome *o, size_t n, struct corral_denial *ret) {
	if (n < o->denials.count) {
		*ret = denial_of_file(&o->denials.items[n]);
		return true;
	}
	const struct netlog_item *item = refused(&o->network, n - o->denials.count);
	if (item != NULL) {
		*ret = denial_of_gate(item);
	}
	return item != NULL;
}

int corral_result_denial(const struct corral_result *result, size_t n,
			 struct corral_denial *denial) {
	struct err unused = {0};
	struct corral_denial known;

	if (result == NULL || denial == NULL || sized_check(&sized_denial, denial, &unused) != 0) {
		return -1;
	}
	return denials_get(&result->outcome, n, &known)
		       ? sized_out(&sized_denial, &known, denial, &unused)
		       : 1;
}

uint64_t corral_result_denials_more(const struct corral_result *result) {
	return result == NULL ? 0 : result->outcome.denials.more;
}

int corral_result_denials_recorded(const struct corral_result *result) {
	return result != NULL && result->outcome.denials.recorded;
}

static void put_object(struct emit *j, const struct corral_denial *d) {
	if (d->limit != NULL) {
		emit_string(j, "limit", d->limit);
		emit_string(j, "value", d->value);
	} else if (d->command != NULL) {
		emit_string(j, "command", d->command);
	} else if (d->path != NULL) {
		emit_string(j, "path", d->path);
		emit_string(j, "resolved", d->resolved == NULL ? d->path : d->resolved);
	} else {
		emit_string(j, "host", d->host);
		if (d->port == 0) {
			emit_null(j, "port");
		} else {
			emit_int(j, "port", d->port);
		}
	}
}

static void put_denial(struct emit *j, const struct corral_denial *d) {
	emit_object(j, NULL);
	emit_string(j, "op", d->op);
	put_object(j, d);
	emit_string(j, "access", d->access);
	emit_string(j, "errno", d->errno_name);
	emit_string(j, "rule", d->rule);
	emit_string(j, "origin", d->origin);
	emit_string(j, "why", d->why);
	emit_string(j, "remedy", d->remedy);
	emit_string(j, "allow_with", d->allow_with);
	emit_int(j, "count", (int64_t)d->count);
	emit_end_object(j);
}

void denials_emit(struct emit *j, const struct outcome *o, const struct corral_denial *refused) {
	struct corral_denial d;

	emit_array(j, "denials");
	if (refused != NULL) {
		put_denial(j, refused);
	}
	for (size_t i = 0; denials_get(o, i, &d); i++) {
		put_denial(j, &d);
	}
	emit_end_array(j);
	emit_int(j, "denials_more", (int64_t)o->denials.more);
	emit_bool(j, "denials_recorded", refused != NULL || o->denials.recorded);
}
