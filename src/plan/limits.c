/* Which limit is kept by which mechanism, and what is lost where none is.
 *
 * Should:   give every limit of the policy to the mechanism that keeps it for
 *           the whole command: supervisor, rlimit, tmpfs, control group, processor
 *           affinity, or, where there is none of these, a sampler.
 * Must not: use RLIMIT_AS (it counts reserved addresses: Go, Java and the
 *           sanitizers reserve terabytes that they never touch), or RLIMIT_NPROC
 *           outside a user namespace (there it counts all of the user's processes).
 * Fails:    open, and says so: a limit that this host cannot keep is an absent
 *           promise, one that is sampled a weaker one; `require` turns both into a
 *           refusal. */
#include "plan/limits.h"

#include "base/auto.h"
#include "data/syscalls.h"

#include <assert.h>
#include <sys/resource.h>

#define NOT_ASKED "not asked for: the policy sets no such limit"

/* The intervals are those of linux/sample_interval.h and linux/sampler.c. */
#define SAMPLED_EVERY(shortest)                                                                    \
	"sampled every " shortest                                                                  \
	" to 100 ms, and the run is killed when it exceeds the limit: it may do so for a moment; " \
	"`corral status` says how to get a control group"
#define SAMPLED_DISK                                                                               \
	"the growth of writable directories is sampled every 50 ms to 30 s, and the run is "       \
	"killed "                                                                                  \
	"when it exceeds the limit; removed files that are still open are not counted"

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

/* Not only by the built-in default. */
static bool is_asked(const struct policy *p, enum key_id id) {
	return limit_of(p, id) != LIMIT_NONE &&
	       (p->values[id].origin.kind != ORIGIN_BUILTIN || policy_floor(p, id) != NULL);
}

static void add_rlimit(struct plan *plan, int resource, int64_t value) {
	assert(plan->nrlimits < ARRAY_LEN(plan->rlimits));
	plan->rlimits[plan->nrlimits++] = (struct rlimit_row){resource, (uint64_t)value};
}

static void report(struct plan *plan, enum guarantee g, struct guarantee_report made) {
	plan->guarantees[g] = made;
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
	/* A caller that may have more does not hand it on: no real-time scheduler, no
	 * negative nice value, and the kernel's default of memory that cannot be
	 * swapped out. */
	{RLIMIT_RTPRIO, 0},
	{RLIMIT_NICE, 0},
	{RLIMIT_MEMLOCK, 8 << 20},
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
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"supervisor"}};
	if (plan->timeout_ms == LIMIT_NONE && plan->idle_ms == LIMIT_NONE) {
		made = (struct guarantee_report){.state = STATE_ABSENT, .why = NOT_ASKED};
	} else if (plan->timeout_ms == LIMIT_NONE) {
		made.state = STATE_WEAKER;
		made.why =
			"only silence is bounded: a command that keeps printing may run for ever";
	}
	report(plan, GUARANTEE_LIMITS_TIME, made);
}

static void plan_output(struct plan *plan) {
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"supervisor"}};
	if (plan->output_bytes == LIMIT_NONE) {
		made = (struct guarantee_report){.state = STATE_ABSENT, .why = NOT_ASKED};
	}
	report(plan, GUARANTEE_LIMITS_OUTPUT, made);
}

/* Of a limit on what processes use. */
static struct guarantee_report guarantee_sampled(const struct host *h, const char *how) {
	return h->sampling_why != NULL
		       ? (struct guarantee_report){.state = STATE_ABSENT, .why = h->sampling_why}
		       : (struct guarantee_report){
				 .state = STATE_WEAKER, .by = {"sampling"}, .why = how};
}

static void plan_memory(struct plan *plan, int64_t bytes, const struct host *h) {
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"cgroup"}};
	if (bytes == LIMIT_NONE) {
		made = (struct guarantee_report){.state = STATE_ABSENT, .why = NOT_ASKED};
	} else if (!h->cgroup.memory) {
		made = guarantee_sampled(h, SAMPLED_EVERY("5"));
		plan->sampled.memory = made.state == STATE_ABSENT ? 0 : bytes;
	} else {
		plan->memory_bytes = bytes;
		plan->use_cgroup = true;
	}
	report(plan, GUARANTEE_LIMITS_MEMORY, made);
}

/* Whole processors by affinity (linux/processors.h), rounded up: a quota needs a control group,
 * and stopping processes in turns would be seen by programs. */
static const char *pin(struct plan *plan, int64_t millis) {
	plan->processors = millis / 1000 + (millis % 1000 != 0);
	if (plan->engine == ENGINE_NONE) {
		return "the command is pinned to so many processors, and may change that";
	}
	plan->traits |= TRAIT_PINNED;
	return millis % 1000 != 0
		       ? "without a cpu controller the command is pinned to whole processors: the "
			 "number was rounded up"
		       : "without a cpu controller the command is pinned to so many processors; "
			 "the "
			 "kernel drops that when all of them are taken offline";
}

/* Two different things share this promise: `cpus` bounds the rate of the whole
 * group, `cpu_time` the seconds of each process, and a fork begins at zero. */
static void plan_cpu(struct plan *plan, int64_t millis, int64_t time_ms, const struct host *h) {
	bool asked = millis != LIMIT_NONE, rate = asked && h->cgroup.cpu;
	struct guarantee_report made = {.state = STATE_WEAKER};
	size_t n = 0;

	if (rate) {
		plan->cpu_millis = millis;
		plan->use_cgroup = true;
		made.by[n++] = "cgroup";
	} else if (asked) {
		made.why = pin(plan, millis);
		made.by[n++] = "affinity";
	}
	if (time_ms != LIMIT_NONE) {
		made.by[n++] = "rlimit";
		made.why = asked && !rate ? "processor time is bounded for each process, not for "
					    "their sum, and processors are counted whole"
					  : "processor time is bounded for each process, not for "
					    "their sum";
	} else if (rate) {
		made.state = STATE_ENFORCED;
	} else if (!asked) {
		made = (struct guarantee_report){.state = STATE_ABSENT, .why = NOT_ASKED};
	}
	report(plan, GUARANTEE_LIMITS_CPU, made);
}

/* The built-in number is not sampled: that would cost every run. */
static struct guarantee_report sample_processes(struct plan *plan, const struct policy *p,
						int64_t count, const struct host *h) {
	struct guarantee_report made = guarantee_sampled(h, SAMPLED_EVERY("10"));

	if (!is_asked(p, KEY_LIMITS_PROCESSES)) {
		return (struct guarantee_report){
			.state = STATE_ABSENT,
			.why = h->privileged
				       ? "the kernel exempts root from its own process limit, and "
					 "there is no pids controller to use: run as an ordinary "
					 "user, or set --processes"
				       : "without a user namespace the kernel would count all of "
					 "this user's processes, and there is no pids controller "
					 "to use: set --processes"};
	}
	plan->sampled.processes = made.state == STATE_ABSENT ? 0 : count;
	return made;
}

static void plan_processes(struct plan *plan, const struct policy *p, const struct host *h) {
	int64_t count = limit_of(p, KEY_LIMITS_PROCESSES);
	/* The kernel never applies RLIMIT_NPROC to kernel uid 0, not even in a user
	 * namespace that it made; there only the pids controller counts. */
	bool rlimit = plan->engine == ENGINE_NAMESPACES && !h->privileged;
	struct guarantee_report made = {.state = STATE_ENFORCED,
					.by = {rlimit ? "rlimit" : "cgroup"}};

	if (count == LIMIT_NONE) {
		made = (struct guarantee_report){.state = STATE_ABSENT, .why = NOT_ASKED};
		report(plan, GUARANTEE_LIMITS_PROCESSES, made);
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
		made = sample_processes(plan, p, count, h);
	}
	/* A group that exists for another reason counts as well, and says who refused. */
	if (plan->use_cgroup && h->cgroup.pids) {
		plan->max_processes = count;
		made.by[rlimit ? 1 : 0] = "cgroup";
	}
	report(plan, GUARANTEE_LIMITS_PROCESSES, made);
}

static void plan_disk(struct plan *plan, const struct policy *p) {
	int64_t tmp_size = limit_of(p, KEY_LIMITS_TMP_SIZE), grows = limit_of(p, KEY_LIMITS_DISK);
	bool files = limit_of(p, KEY_LIMITS_FILE_SIZE) != LIMIT_NONE;
	bool tmpfs = tmp_size != LIMIT_NONE && plan->engine == ENGINE_NAMESPACES;
	struct guarantee_report made = {.state = STATE_WEAKER};
	size_t n = 0;

	plan->tmp_size = tmp_size == LIMIT_NONE ? 0 : (uint64_t)tmp_size; /* tmpfs: 0 is no limit */
	plan->sampled.disk = grows == LIMIT_NONE ? 0 : grows;
	if (files) {
		made.by[n++] = "rlimit";
	}
	if (tmpfs) {
		made.by[n++] = "tmpfs";
	}
	if (grows != LIMIT_NONE) {
		made.by[n++] = "sampling";
		made.why = SAMPLED_DISK;
	} else if (files && tmpfs) {
		made.why = "each file is bounded and private directories are sized; the workspace "
			   "as a whole is not: set --disk";
	} else if (files) {
		made.why = "each file is bounded; the number of files is not: set --disk";
	} else if (tmpfs) {
		made.why =
			"private directories are sized; the workspace is not bounded: set --disk";
	} else {
		made = (struct guarantee_report){.state = STATE_ABSENT, .why = NOT_ASKED};
	}
	report(plan, GUARANTEE_LIMITS_DISK, made);
}

bool plan_wants_groups(const struct policy *p, const struct host *h) {
	return limit_of(p, KEY_LIMITS_MEMORY) != LIMIT_NONE ||
	       limit_of(p, KEY_LIMITS_CPUS) != LIMIT_NONE ||
	       ((h->privileged || !h->userns) && limit_of(p, KEY_LIMITS_PROCESSES) != LIMIT_NONE);
}

bool plan_wants_scope(const struct policy *p) {
	return is_asked(p, KEY_LIMITS_MEMORY) || is_asked(p, KEY_LIMITS_CPUS) ||
	       is_asked(p, KEY_LIMITS_PROCESSES);
}

bool plan_wants_samples(const struct policy *p, const struct host *h) {
	return (!h->cgroup.memory && limit_of(p, KEY_LIMITS_MEMORY) != LIMIT_NONE) ||
	       (!h->cgroup.pids && is_asked(p, KEY_LIMITS_PROCESSES));
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
	plan->sampled = (struct sampled){0};
	plan->processors = 0;

	plan_rlimits(plan, p);
	plan_time(plan);
	plan_output(plan);
	plan_memory(plan, limit_of(p, KEY_LIMITS_MEMORY), h);
	plan_cpu(plan, limit_of(p, KEY_LIMITS_CPUS), limit_of(p, KEY_LIMITS_CPU_TIME), h);
	/* After memory and cpu: they decide whether there is a group anyway. */
	plan_processes(plan, p, h);
	plan_disk(plan, p);
	return 0;
}
