/* Which limit is kept by which mechanism, and what is lost where none is.
 *
 * Should:   give every limit of the policy to the mechanism that keeps it for
 *           the whole command: supervisor, rlimit, tmpfs or control group.
 * Must not: use RLIMIT_AS (it counts reserved addresses: Go, Java and the
 *           sanitizers reserve terabytes that they never touch), or RLIMIT_NPROC
 *           outside a user namespace (there it counts all of the user's processes).
 * Fails:    open, and says so: a limit that this host cannot keep is an absent
 *           promise, which `require` turns into a refusal. */
#include "plan/limits.h"

#include "base/auto.h"

#include <assert.h>
#include <sys/resource.h>

#define NOT_ASKED "not asked for: the policy sets no such limit"

/* pid 1 of the sandbox is ours and counts as one process: with less than two
 * the command itself could not start. */
#define PROCESSES_MIN 2

struct rlimit_key {
	enum key_id key;
	int resource;
	int64_t unit; /* of the policy's number in one of the kernel's */
};

static const struct rlimit_key rlimit_keys[] = {
	{KEY_LIMITS_FILE_SIZE, RLIMIT_FSIZE, 1},
	{KEY_LIMITS_OPEN_FILES, RLIMIT_NOFILE, 1},
	{KEY_LIMITS_CPU_TIME, RLIMIT_CPU, 1000}, /* the kernel counts whole seconds */
};

static int64_t limit_of(const struct policy *p, enum key_id id) {
	return p->values[id].set ? policy_num(p, id) : LIMIT_NONE;
}

static void add_rlimit(struct plan *plan, int resource, int64_t value) {
	assert(plan->nrlimits < ARRAY_LEN(plan->rlimits));
	plan->rlimits[plan->nrlimits++] = (struct rlimit_row){resource, (uint64_t)value};
}

static void promise(struct plan *plan, enum guarantee g, struct promise made) {
	plan->promises[g] = made;
}

static int check_values(const struct policy *p, struct err *e) {
	for (enum key_id id = KEY_LIMITS_TIMEOUT; id <= KEY_LIMITS_TMP_SIZE; id++) {
		int64_t value = limit_of(p, id);
		if (value < 0 && value != LIMIT_NONE) {
			return err_set(e, ERR_USAGE, "limits", "a limit of %lld is not possible",
				       (long long)value);
		}
	}
	return 0;
}

/* Limits that no key names. */
static const struct rlimit_row standing[] = {
	/* A core file would carry the command's memory, secrets included, to
	 * wherever the host's core pattern sends it.  One byte, not none: a pattern
	 * that pipes into a program ignores every limit but this one. */
	{RLIMIT_CORE, 1},
	/* The kernel charges these up the chain of user namespaces: what the run
	 * takes, the host's user lacks.  Half of what it grants a user by default. */
	{RLIMIT_MSGQUEUE, 819200 / 2},
	/* Timers count as well; a small part of the default, which grows with memory. */
	{RLIMIT_SIGPENDING, 4096},
};

static void plan_rlimits(struct plan *plan, const struct policy *p) {
	plan->nrlimits = 0;
	for (size_t i = 0; i < ARRAY_LEN(standing); i++) {
		add_rlimit(plan, standing[i].resource, (int64_t)standing[i].value);
	}
	for (size_t i = 0; i < ARRAY_LEN(rlimit_keys); i++) {
		const struct rlimit_key *row = &rlimit_keys[i];
		int64_t value = limit_of(p, row->key);
		if (value != LIMIT_NONE) {
			add_rlimit(plan, row->resource,
				   value / row->unit + (value % row->unit != 0));
		}
	}
}

static void plan_time(struct plan *plan) {
	struct promise made = {.state = STATE_ENFORCED, .by = {"supervisor"}};
	if (plan->timeout_ms == LIMIT_NONE && plan->idle_ms == LIMIT_NONE) {
		made = (struct promise){.state = STATE_ABSENT, .why = NOT_ASKED};
	} else if (plan->timeout_ms == LIMIT_NONE) {
		made.state = STATE_WEAKER;
		made.why =
			"only silence is bounded: a command that keeps printing may run for ever";
	}
	promise(plan, GUARANTEE_LIMITS_TIME, made);
}

static void plan_output(struct plan *plan) {
	struct promise made = {.state = STATE_ENFORCED, .by = {"supervisor"}};
	if (plan->output_bytes == LIMIT_NONE) {
		made = (struct promise){.state = STATE_ABSENT, .why = NOT_ASKED};
	}
	promise(plan, GUARANTEE_LIMITS_OUTPUT, made);
}

static void plan_memory(struct plan *plan, int64_t bytes, const struct host *h) {
	struct promise made = {.state = STATE_ENFORCED, .by = {"cgroup"}};
	if (bytes == LIMIT_NONE) {
		made = (struct promise){.state = STATE_ABSENT, .why = NOT_ASKED};
	} else if (!h->cgroup.memory) {
		made = (struct promise){.state = STATE_ABSENT, .why = h->cgroup.why};
	} else {
		plan->memory_bytes = bytes;
		plan->use_cgroup = true;
	}
	promise(plan, GUARANTEE_LIMITS_MEMORY, made);
}

/* Two different things share this promise: `cpus` bounds the rate of the whole
 * group, `cpu_time` the seconds of each process, and a fork begins at zero. */
static void plan_cpu(struct plan *plan, int64_t millis, int64_t time_ms, const struct host *h) {
	bool rate = millis != LIMIT_NONE && h->cgroup.cpu;
	struct promise made = {.state = STATE_WEAKER, .by = {rate ? "cgroup" : "rlimit"}};

	if (rate) {
		plan->cpu_millis = millis;
		plan->use_cgroup = true;
	}
	if (millis == LIMIT_NONE && time_ms == LIMIT_NONE) {
		made = (struct promise){.state = STATE_ABSENT, .why = NOT_ASKED};
	} else if (time_ms == LIMIT_NONE && rate) {
		made.state = STATE_ENFORCED;
	} else if (time_ms == LIMIT_NONE) {
		made = (struct promise){.state = STATE_ABSENT, .why = h->cgroup.why};
	} else if (millis != LIMIT_NONE && !rate) {
		made.why = "processor time is bounded for each process only, and without a cpu "
			   "controller the number of processors is not bounded";
	} else {
		made.by[1] = rate ? "rlimit" : NULL;
		made.why = "processor time is bounded for each process, not for their sum";
	}
	promise(plan, GUARANTEE_LIMITS_CPU, made);
}

static void plan_processes(struct plan *plan, int64_t count, const struct host *h) {
	/* The kernel never applies RLIMIT_NPROC to kernel uid 0, not even in a user
	 * namespace that it made; there only the pids controller counts. */
	bool rlimit = plan->engine == ENGINE_NAMESPACES && !h->privileged;
	struct promise made = {.state = STATE_ENFORCED, .by = {rlimit ? "rlimit" : "cgroup"}};

	if (count == LIMIT_NONE) {
		made = (struct promise){.state = STATE_ABSENT, .why = NOT_ASKED};
		promise(plan, GUARANTEE_LIMITS_PROCESSES, made);
		return;
	}
	if (count < PROCESSES_MIN) {
		count = PROCESSES_MIN;
	}
	if (rlimit) {
		add_rlimit(plan, RLIMIT_NPROC, count);
	} else if (h->cgroup.pids) {
		plan->use_cgroup = true;
	} else {
		made = (struct promise){.state = STATE_ABSENT};
		made.why =
			h->privileged
				? "the kernel exempts root from its own process limit, and there "
				  "is no pids controller to use: run as an ordinary user"
				: "without a user namespace the kernel would count all of this "
				  "user's processes, and there is no pids controller to use";
	}
	/* A group that exists for another reason counts as well, and says who refused. */
	if (plan->use_cgroup && h->cgroup.pids) {
		plan->max_processes = count;
		made.by[rlimit ? 1 : 0] = "cgroup";
	}
	promise(plan, GUARANTEE_LIMITS_PROCESSES, made);
}

static void plan_disk(struct plan *plan, int64_t file_size, int64_t tmp_size) {
	bool files = file_size != LIMIT_NONE;
	bool tmpfs = tmp_size != LIMIT_NONE && plan->engine == ENGINE_NAMESPACES;
	struct promise made = {.state = STATE_WEAKER};

	plan->tmp_size = tmp_size == LIMIT_NONE ? 0 : (uint64_t)tmp_size; /* tmpfs: 0 is no limit */
	if (files && tmpfs) {
		made.by[0] = "rlimit";
		made.by[1] = "tmpfs";
		made.why = "each file is bounded and private directories are sized; the workspace "
			   "as a whole is not";
	} else if (files) {
		made.by[0] = "rlimit";
		made.why = "each file is bounded; the number of files is not";
	} else if (tmpfs) {
		made.by[0] = "tmpfs";
		made.why = "private directories are sized; the workspace is not bounded";
	} else {
		made = (struct promise){.state = STATE_ABSENT, .why = NOT_ASKED};
	}
	promise(plan, GUARANTEE_LIMITS_DISK, made);
}

bool plan_wants_groups(const struct policy *p, const struct host *h) {
	return limit_of(p, KEY_LIMITS_MEMORY) != LIMIT_NONE ||
	       limit_of(p, KEY_LIMITS_CPUS) != LIMIT_NONE ||
	       ((h->privileged || !h->userns) && limit_of(p, KEY_LIMITS_PROCESSES) != LIMIT_NONE);
}

int plan_limits(struct plan *plan, const struct policy *p, const struct host *h, struct err *e) {
	if (check_values(p, e) != 0) {
		return -1;
	}
	plan->timeout_ms = limit_of(p, KEY_LIMITS_TIMEOUT);
	plan->idle_ms = limit_of(p, KEY_LIMITS_IDLE_TIMEOUT);
	plan->grace_ms = limit_of(p, KEY_LIMITS_GRACE);
	plan->output_bytes = limit_of(p, KEY_LIMITS_OUTPUT);
	plan->memory_bytes = plan->cpu_millis = plan->max_processes = LIMIT_NONE;
	plan->use_cgroup = false;

	plan_rlimits(plan, p);
	plan_time(plan);
	plan_output(plan);
	plan_memory(plan, limit_of(p, KEY_LIMITS_MEMORY), h);
	plan_cpu(plan, limit_of(p, KEY_LIMITS_CPUS), limit_of(p, KEY_LIMITS_CPU_TIME), h);
	/* After memory and cpu: they decide whether there is a group anyway. */
	plan_processes(plan, limit_of(p, KEY_LIMITS_PROCESSES), h);
	plan_disk(plan, limit_of(p, KEY_LIMITS_FILE_SIZE), limit_of(p, KEY_LIMITS_TMP_SIZE));
	return 0;
}
