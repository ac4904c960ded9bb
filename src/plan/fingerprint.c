/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a plan as bytes, for comparison.
 *
 * Should:   write every field of struct plan, and of the structs in it, that the engine uses; the
 *           length of each text and list before it.
 * Must not: write a pointer, or padding.
 * Fails:    closed: the sizes of the structs are checked when this file is compiled, so that a new
 *           field is either written here or known to be of no use for the engine. */
#include "plan/fingerprint.h"

#include <string.h>

#if __SIZEOF_POINTER__ == 8
_Static_assert(sizeof(struct mount) == 120, "write the new field, then change this number");
_Static_assert(sizeof(struct rule) == 96, "write the new field, then change this number");
_Static_assert(sizeof(struct plan) - sizeof(struct guarantee_report[GUARANTEE_COUNT]) -
			       sizeof(struct net_plan) ==
		       768,
	       "write the new field, then change this number");
#endif

static void put_number(struct buf *out, uint64_t n) {
	buf_add(out, &n, sizeof n);
}

static void put_text(struct buf *out, const char *text) {
	size_t len = text == NULL ? 0 : strlen(text);

	put_number(out, text == NULL ? UINT64_MAX : len);
	buf_add(out, text, len);
}

static void put_numbers(struct buf *out, const uint64_t *list, size_t n) {
	buf_add(out, list, n * sizeof *list);
}

/* The engine compares a source with its planned inode; one without is looked at here. */
static void put_mount(struct buf *out, const struct host *host, const struct mount *m) {
	const char *const texts[] = {m->target, m->source, m->text, m->secret, m->follow, m->named};
	const uint64_t numbers[] = {m->kind,   m->reach, m->mode,    m->writable,
				    m->create, m->maybe, m->is_file, m->noexec,
				    m->steady, m->door,  m->dev,     m->ino};

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		put_text(out, texts[i]);
	}
	put_numbers(out, numbers, sizeof numbers / sizeof numbers[0]);
	if (m->source != NULL && m->ino == 0) {
		struct look seen = host->fs.look(host->fs.ctx, m->source);
		put_numbers(out, (const uint64_t[]){seen.kind, seen.dev, seen.ino}, 3);
	}
}

static void put_rule(struct buf *out, const struct rule *r) {
	const uint64_t numbers[] = {r->floating,   r->anywhere,  r->effect,
				    r->group,      r->except,    r->yields,
				    r->until_made, r->glob.fold, r->glob.count};

	put_numbers(out, numbers, sizeof numbers / sizeof numbers[0]);
	put_text(out, r->anchor);
	put_text(out, r->written);
	for (size_t i = 0; i < r->glob.count; i++) {
		put_number(out, r->glob.names[i].kind);
		put_text(out, r->glob.names[i].text);
	}
}

static void put_rules(struct buf *out, const struct rules *r) {
	put_numbers(out, (const uint64_t[]){r->count, r->nanchors, r->reads, r->hides, r->required},
		    5);
	for (size_t i = 0; i < r->count; i++) {
		put_rule(out, &r->list[i]);
	}
	for (size_t i = 0; i < r->nanchors; i++) {
		put_text(out, r->anchors[i].path);
		put_number(out, r->anchors[i].folds);
	}
}

static void put_execs(struct buf *out, const struct plan *plan) {
	put_numbers(out, (const uint64_t[]){plan->exec_limited, plan->nexecs}, 2);
	for (size_t i = 0; i < plan->nexecs; i++) {
		put_text(out, plan->execs[i].path);
		put_number(out, plan->execs[i].kind);
	}
}

static void put_limits(struct buf *out, const struct plan *plan) {
	const uint64_t numbers[] = {
		plan->tmp_size,
		(uint64_t)plan->timeout_ms,
		(uint64_t)plan->idle_ms,
		(uint64_t)plan->grace_ms,
		(uint64_t)plan->output_bytes,
		(uint64_t)plan->memory_bytes,
		(uint64_t)plan->cpu_millis,
		(uint64_t)plan->max_processes,
		plan->use_cgroup,
		(uint64_t)plan->sampled.memory,
		(uint64_t)plan->sampled.processes,
		(uint64_t)plan->sampled.disk,
		(uint64_t)plan->processors,
		plan->nrlimits,
	};

	put_numbers(out, numbers, sizeof numbers / sizeof numbers[0]);
	for (size_t i = 0; i < plan->nrlimits; i++) {
		put_number(out, (uint64_t)plan->rlimits[i].resource);
		put_number(out, plan->rlimits[i].value);
	}
}

static void put_places(struct buf *out, const struct plan *plan) {
	const char *const texts[] = {
		plan->workspace,   plan->workspace_at, plan->home_source,  plan->home_at,
		plan->home_own,    plan->own_dirs[0],  plan->own_dirs[1],  plan->own_dirs[2],
		plan->own_dirs[3], plan->own_dirs[4],  plan->own_files[0], plan->own_files[1],
		plan->cwd,         plan->hostname,     plan->stand_in,     plan->run_dir,
		plan->cow_dir,     plan->net.resolver, plan->home_set,
	};

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		put_text(out, texts[i]);
	}
}

/* Where the cgroup of a run is made. */
static void put_cgroup(struct buf *out, const struct host_cgroup *c) {
	put_numbers(out, (const uint64_t[]){c->kind, c->memory, c->pids, c->cpu, c->scope}, 5);
	for (size_t i = 0; i < sizeof c->dir / sizeof c->dir[0]; i++) {
		put_text(out, c->dir[i]);
	}
}

void plan_fingerprint(const struct plan *plan, const struct host *host, struct buf *out) {
	const uint64_t numbers[] = {
		plan->engine,
		plan->level,
		plan->full_access,
		plan->uid,
		plan->gid,
		host->uid,
		host->gid,
		plan->own_net,
		plan->net.gate,
		plan->net.mode,
		plan->net.nsockets,
		plan->broker,
		plan->judges,
		plan->nested,
		plan->inner,
		plan->shares_proc,
		(uint64_t)plan->gate_abi,
		plan->traits,
		plan->exceptions,
		plan->denials,
		plan->islands,
		plan->spread,
		(uint64_t)plan->landlock_abi,
		plan->nsecrets,
		plan->nmounts,
		plan->denied != NULL,
		plan->standby != NULL,
	};

	buf_reserve(out, (size_t)32 * 1024);
	put_numbers(out, numbers, sizeof numbers / sizeof numbers[0]);
	for (size_t i = 0; i < plan->nmounts; i++) {
		put_mount(out, host, &plan->mounts[i]);
	}
	put_places(out, plan);
	put_rules(out, &plan->rules);
	put_execs(out, plan);
	put_limits(out, plan);
	put_cgroup(out, &host->cgroup);
}
