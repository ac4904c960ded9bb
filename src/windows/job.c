/* SPDX-License-Identifier: Apache-2.0 */
/* Creates job objects with limits.
 *
 * Should:   set kill on close first: the job ends with corral.exe, however that ends.
 * Must not: let a process leave the job: JOB_OBJECT_LIMIT_BREAKAWAY_OK is never set.
 * Fails:    closed: a limit that the facts have and the system refuses stops the run. */
#include "windows/job.h"

#include "base/auto.h"
#include "windows/wide.h"

#define WHERE "job"

/* The CPU rate is in hundredths of a percent of all processors. */
#define RATE_WHOLE 10000

#define FILETIME_PER_MS 10000

static bool set_limits(HANDLE job, DWORD flags, SIZE_T memory, DWORD processes) {
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION info = {
		.BasicLimitInformation = {.LimitFlags = flags, .ActiveProcessLimit = processes},
		.JobMemoryLimit = memory,
	};
	return SetInformationJobObject(job, JobObjectExtendedLimitInformation, &info, sizeof info);
}

/* Windows of other programs, the clipboard, the desktop and the end of the session. */
static bool set_ui(HANDLE job) {
	JOBOBJECT_BASIC_UI_RESTRICTIONS info = {
		.UIRestrictionsClass =
			JOB_OBJECT_UILIMIT_HANDLES | JOB_OBJECT_UILIMIT_READCLIPBOARD |
			JOB_OBJECT_UILIMIT_WRITECLIPBOARD | JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS |
			JOB_OBJECT_UILIMIT_DISPLAYSETTINGS | JOB_OBJECT_UILIMIT_GLOBALATOMS |
			JOB_OBJECT_UILIMIT_DESKTOP | JOB_OBJECT_UILIMIT_EXITWINDOWS,
	};
	return SetInformationJobObject(job, JobObjectBasicUIRestrictions, &info, sizeof info);
}

static bool set_rate(HANDLE job, DWORD rate) {
	JOBOBJECT_CPU_RATE_CONTROL_INFORMATION info = {
		.ControlFlags =
			JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP,
		.CpuRate = rate,
	};
	return SetInformationJobObject(job, JobObjectCpuRateControlInformation, &info, sizeof info);
}

void job_probe(bool wine, struct facts *ret) {
	auto_handle job = CreateJobObjectW(NULL, NULL);

	if (job == NULL) {
		return;
	}
	ret->job = set_limits(job, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, 0, 0);
	ret->job_processes = !wine && set_limits(job,
						 JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
							 JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
						 0, 1);
	ret->job_memory =
		!wine &&
		set_limits(job, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_JOB_MEMORY,
			   (SIZE_T)1 << 30, 0);
	ret->job_cpu = !wine && set_rate(job, RATE_WHOLE);
	ret->job_ui = !wine && set_ui(job);
}

static bool limited(const struct run_choices *c, enum key_id key) {
	return c->values[key].set && c->values[key].num != LIMIT_NONE;
}

static DWORD rate_of(int64_t thousandths) {
	SYSTEM_INFO info;

	GetSystemInfo(&info);
	int64_t all = (int64_t)info.dwNumberOfProcessors * 1000;
	int64_t rate = thousandths * RATE_WHOLE / (all > 0 ? all : 1000);
	return rate < 1 ? 1 : rate > RATE_WHOLE ? RATE_WHOLE : (DWORD)rate;
}

int job_create(const struct facts *facts, const struct run_choices *c, HANDLE *ret, struct err *e) {
	DWORD flags =
		JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
	auto_handle job = CreateJobObjectW(NULL, NULL); /* unnamed: no process can open it */
	SIZE_T memory = 0;
	DWORD processes = 0;

	if (facts->job_memory && limited(c, KEY_LIMITS_MEMORY)) {
		flags |= JOB_OBJECT_LIMIT_JOB_MEMORY;
		memory = (SIZE_T)c->values[KEY_LIMITS_MEMORY].num;
	}
	if (facts->job_processes && limited(c, KEY_LIMITS_PROCESSES)) {
		flags |= JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
		processes = (DWORD)c->values[KEY_LIMITS_PROCESSES].num;
	}
	if (job == NULL || !set_limits(job, flags, memory, processes) ||
	    (facts->job_ui && !set_ui(job)) ||
	    (facts->job_cpu && limited(c, KEY_LIMITS_CPUS) &&
	     !set_rate(job, rate_of(c->values[KEY_LIMITS_CPUS].num)))) {
		return wide_fail(e, WHERE, "cannot set up the job object", "", GetLastError());
	}
	*ret = take_ptr(job);
	return 0;
}

int64_t job_cpu_ms(HANDLE job) {
	JOBOBJECT_BASIC_ACCOUNTING_INFORMATION info = {0};

	if (!QueryInformationJobObject(job, JobObjectBasicAccountingInformation, &info, sizeof info,
				       NULL)) {
		return -1;
	}
	return (info.TotalUserTime.QuadPart + info.TotalKernelTime.QuadPart) / FILETIME_PER_MS;
}
