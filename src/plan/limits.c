/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns each limit to the mechanism that enforces it, and reports the loss where there is none.
 *
 * Should:   assign every limit of the policy to the mechanism that enforces it for the
 *           whole command: supervisor, rlimit, tmpfs, cgroup, CPU affinity, or, where
 *           there is none of these, a sampler.
 * Must not: use RLIMIT_AS (it counts reserved addresses: Go, Java and the
 *           sanitizers reserve terabytes that they never touch), or RLIMIT_NPROC
 *           outside a user namespace (there it counts all of the user's processes).
 * Fails:    open, with a warning: a limit that this host cannot enforce is an absent
 *           guarantee, one that is sampled a weaker one; `require` turns both into an
 *           error. */
#include "plan/limits.h"

#include "base/auto.h"
#include "data/syscalls.h"

#include <assert.h>
#include <sys/resource.h>

#define NOT_SET(option) LIMIT_UNSET " (" option ")"

/* The intervals are those of linux/sample_interval.h and linux/sampler.c. */
#define SAMPLED_EVERY(shortest)                                                                    \
	"sampled every " shortest " to 100 ms; the run is killed after it exceeds the limit; "     \
	"`corral status` lists how to get a cgroup"
#define NOT_COUNTED                                                                                \
	"; not counted: memory that no process maps, as a memfd can have it, and files in /tmp "   \
	"and /dev/shm (--tmp-size)"
#define SAMPLED_DISK                                                                               \
	"the growth of writable directories is sampled every 50 ms to 30 s; the run is killed "    \
	"after it exceeds the limit; removed files that are still open are not counted"

/* pid 1 of the sandbox counts as one process: with less than two the command could not start. */
#define PROCESSES_MIN 2

struct rlimit_key {
	enum key_id key;
	int resource;
	int64_t unit; /* the policy's units in one unit of the kernel */
};

static const struct rlimit_key rlimit_keys[] = {
	{KEY_LIMITS_FILE_SIZE, RLIMIT_FSIZE, 1},
	{KEY_LIMITS_OPEN_FILES, RLIMIT_NOFILE, 1},
	{KEY_LIMITS_CPU_TIME, RLIMIT_CPU, 1000}, /* the kernel counts whole seconds */
};

static int64_t limit_of(const struct policy *p, enum key_id id) {
	return p->values[id].set ? policy_num(p, id) : LIMIT_NONE;
}

/* Set by a file, an option or the floor, not only by the built-in default. */
static bool is_set(const struct policy *p, enum key_id id) {
	return limit_of(p, id) != LIMIT_NONE &&
	       (p->values[id].origin.kind != ORIGIN_BUILTIN || policy_floor(p, id) != NULL);
}

static void add_rlimit(struct plan *plan, int resource, int64_t value) {
	assert(plan->nrlimits < ARRAY_LEN(plan->rlimits));
	plan->rlimits[plan->nrlimits++] = (struct rlimit_row){resource, (uint64_t)value};
}

static void set_guarantee(struct plan *plan, enum guarantee g,
			  const struct guarantee_report *made) {
	plan->guarantees[g] = *made;
}

static int check_values(const struct policy *p, struct err *e) {
	for (enum key_id id = KEY_LIMITS_TIMEOUT; id <= KEY_LIMITS_TMP_SIZE; id++) {
		int64_t value = limit_of(p, id);
		if (value < 0 && value != LIMIT_NONE) {
			return err_set(e, ERR_USAGE, "limits", "a limit cannot be negative: %lld",
				       (long long)value);
		}
	}
	return 0;
}

/* Limits without a key of the policy. */
static const struct rlimit_row standing[] = {
	/* A core file would carry the command's memory, secrets included, to the place that the
	 * host's core_pattern names.  One byte, not none: a core_pattern that pipes into a program
	 * ignores every limit but 1. */
	{RLIMIT_CORE, 1},
/* The kernel charges these in all parent user namespaces: the run's use counts against the
 * host's user.  Half of the kernel's default. */
#ifdef RLIMIT_MSGQUEUE /* of Linux */
	{RLIMIT_MSGQUEUE, 819200 / 2},
	/* Timers count as well; a small part of the default, which grows with memory. */
	{RLIMIT_SIGPENDING, 4096},
	/* A privileged caller's higher limits are not inherited: no real-time scheduler, no
	 * negative nice value, and the kernel's default of locked memory. */
	{RLIMIT_RTPRIO, 0},
	{RLIMIT_NICE, 0},
#endif
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

uint64_t plan_rlimit(const struct plan *plan, int resource) {
	for (size_t i = 0; i < plan->nrlimits; i++) {
		if (plan->rlimits[i].resource == resource) {
			return plan->rlimits[i].value;
		}
	}
	return UINT64_MAX;
}

static void plan_time(struct plan *plan) {
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"supervisor"}};
	if (plan->timeout_ms == LIMIT_NONE && plan->idle_ms == LIMIT_NONE) {
		made = (struct guarantee_report){.state = STATE_ABSENT,
						 .why = NOT_SET("--timeout")};
	} else if (plan->timeout_ms == LIMIT_NONE) {
		made.state = STATE_WEAKER;
		made.why = "only the time without output is limited: a command that keeps printing "
			   "can run for ever";
	}
	set_guarantee(plan, GUARANTEE_LIMITS_TIME, &made);
}

static void plan_output(struct plan *plan) {
	struct guarantee_report made = {.state = STATE_ENFORCED, .by = {"supervisor"}};
	if (plan->output_bytes == LIMIT_NONE) {
		made = (struct guarantee_report){.state = STATE_ABSENT,
						 .why = NOT_SET("--max-output")};
	}
	set_guarantee(plan, GUARANTEE_LIMITS_OUTPUT, &made);
}

/* The report of a limit that only the sampler can enforce. */
static struct guarantee_report guarantee_sampled(const struct host *h, const char *how) {
	if (h->sampling_why != NULL) {
		return (struct guarantee_report){.state = STATE_ABSENT, .why = h->sampling_why};
	}
	return (struct guarantee_report){.state = STATE_WEAKER, .by = {"sampling"}, .why = how};
}

static void plan_memory(struct plan *plan, int64_t bytes, const struct host *h) {
	struct guarantee_report made = {.state = STATE_ABSENT, .why = NOT_SET("--memory")};

	if (bytes != LIMIT_NONE && h->cgroup.memory) {
		made = (struct guarantee_report){.state = STATE_ENFORCED, .by = {"cgroup"}};
		plan->memory_bytes = bytes;
		plan->use_cgroup = true;
	} else if (bytes != LIMIT_NONE) {
		made = guarantee_sampled(h, SAMPLED_EVERY("5") NOT_COUNTED);
		plan->sampled.memory = made.state == STATE_ABSENT ? 0 : bytes;
	}
	set_guarantee(plan, GUARANTEE_LIMITS_MEMORY, &made);
}

/* Whole processors by CPU affinity (linux/processors.h), rounded up: a quota needs a cgroup, and
 * programs would notice SIGSTOP and SIGCONT. */
static const char *pin_processors(struct plan *plan, int64_t millis) {
	plan->processors = millis / 1000 + (millis % 1000 != 0);
	if (plan->engine == ENGINE_NONE) {
		return "the command is pinned to that number of processors (CPU affinity), but can "
		       "change it";
	}
	plan->traits |= TRAIT_PINNED;
	return millis % 1000 != 0 ? "no cpu controller: the command is pinned to whole processors "
				    "(CPU affinity), and the number was rounded up"
				  : "no cpu controller: the command is pinned to that number of "
				    "processors (CPU affinity); the kernel drops the affinity when "
				    "all of them go offline";
}

/* Two limits share this guarantee: `cpus` limits the rate of the whole cgroup, `cpu_time` the
 * seconds of each process, and a fork starts at zero. */
static void plan_cpu(struct plan *plan, int64_t millis, int64_t time_ms, const struct host *h) {
	bool wanted = millis != LIMIT_NONE, rate = wanted && h->cgroup.cpu;
	struct guarantee_report made = {.state = STATE_WEAKER};
	size_t n = 0;

	if (rate) {
		plan->cpu_millis = millis;
		plan->use_cgroup = true;
		made.by[n++] = "cgroup";
	} else if (wanted) {
		made.why = pin_processors(plan, millis);
		made.by[n++] = "affinity";
	}
	if (time_ms != LIMIT_NONE) {
		made.by[n++] = "rlimit";
		made.why = wanted && !rate
				   ? "CPU time is limited for each process, not for their sum, and "
				     "the number of processors is rounded up"
				   : "CPU time is limited for each process, not for their sum";
	} else if (rate) {
		made.state = STATE_ENFORCED;
	} else if (!wanted) {
		made = (struct guarantee_report){.state = STATE_ABSENT, .why = NOT_SET("--cpus")};
	}
	set_guarantee(plan, GUARANTEE_LIMITS_CPU, &made);
}

/* The built-in limit is not sampled: that would make every run slower. */
static struct guarantee_report sample_processes(struct plan *plan, const struct policy *p,
						int64_t count, const struct host *h) {
	struct guarantee_report made = guarantee_sampled(h, SAMPLED_EVERY("10"));

	if (!is_set(p, KEY_LIMITS_PROCESSES)) {
		return (struct guarantee_report){
			.state = STATE_ABSENT,
			.why = h->privileged
				       ? "RLIMIT_NPROC does not apply to root, and there is no "
					 "usable pids controller; run as an ordinary user, or set "
					 "--processes, which is sampled"
				       : "without a user namespace RLIMIT_NPROC counts all "
					 "processes of this user, and there is no usable pids "
					 "controller; set --processes, which is sampled"};
	}
	plan->sampled.processes = made.state == STATE_ABSENT ? 0 : count;
	return made;
}

static void plan_processes(struct plan *plan, const struct policy *p, const struct host *h) {
	int64_t count = limit_of(p, KEY_LIMITS_PROCESSES);
	/* The kernel never applies RLIMIT_NPROC to kernel uid 0, not even in a user namespace that
	 * it created; there only the pids controller counts. */
	bool rlimit = plan->engine == ENGINE_NAMESPACES && !h->privileged;
	struct guarantee_report made = {.state = STATE_ENFORCED,
					.by = {rlimit ? "rlimit" : "cgroup"}};

	if (count == LIMIT_NONE) {
		made = (struct guarantee_report){.state = STATE_ABSENT,
						 .why = NOT_SET("--processes")};
		set_guarantee(plan, GUARANTEE_LIMITS_PROCESSES, &made);
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
	/* A cgroup that exists for another limit counts as well, and its pids.events records a
	 * refused fork. */
	if (plan->use_cgroup && h->cgroup.pids) {
		plan->max_processes = count;
		made.by[rlimit ? 1 : 0] = "cgroup";
	}
	set_guarantee(plan, GUARANTEE_LIMITS_PROCESSES, &made);
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
		made.why = "the size of each file and of private directories is limited, but not "
			   "the sum of all files in the workspace; set --disk";
	} else if (files) {
		made.why =
			"the size of each file is limited, but not the number of files; set --disk";
	} else if (tmpfs) {
		made.why = "the size of private directories is limited, but not that of the "
			   "workspace; set --disk";
	} else {
		made = (struct guarantee_report){.state = STATE_ABSENT, .why = NOT_SET("--disk")};
	}
	set_guarantee(plan, GUARANTEE_LIMITS_DISK, &made);
}

bool plan_may_lack_namespaces(const struct policy *p, const struct host *h) {
	int64_t level = policy_num(p, KEY_LEVEL);
	return !h->userns || (level != LEVEL_AUTO && level != LEVEL_FULL) ||
	       policy_num(p, KEY_MODE) == MODE_FULL_ACCESS;
}

/* Without a user namespace only a cgroup can limit the number of processes. */
bool plan_wants_groups(const struct policy *p, const struct host *h) {
	return limit_of(p, KEY_LIMITS_MEMORY) != LIMIT_NONE ||
	       limit_of(p, KEY_LIMITS_CPUS) != LIMIT_NONE ||
	       ((h->privileged || plan_may_lack_namespaces(p, h)) &&
		limit_of(p, KEY_LIMITS_PROCESSES) != LIMIT_NONE);
}

bool plan_wants_scope(const struct policy *p) {
	return is_set(p, KEY_LIMITS_MEMORY) || is_set(p, KEY_LIMITS_CPUS) ||
	       is_set(p, KEY_LIMITS_PROCESSES);
}

bool plan_wants_samples(const struct policy *p, const struct host *h) {
	return (!h->cgroup.memory && limit_of(p, KEY_LIMITS_MEMORY) != LIMIT_NONE) ||
	       (!h->cgroup.pids && is_set(p, KEY_LIMITS_PROCESSES));
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
	/* After memory and cpu, which decide whether there is a cgroup. */
	plan_processes(plan, p, h);
	plan_disk(plan, p);
	return 0;
}
