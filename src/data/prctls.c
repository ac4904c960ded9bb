/* SPDX-License-Identifier: Apache-2.0 */
/* Which prctl(2) options a sandboxed command may use.
 *
 * Should:   have one row, with its reason, for each option that programs need.
 * Must not: list an option that affects other processes (core scheduling, merged memory),
 *           that changes /proc/PID (PR_SET_MM), or that only checkpoint tools need.
 * Fails:    closed: an option that is not listed returns EINVAL, as the kernel does for an
 *           unknown option. */
#include "data/syscalls.h"

#include "base/auto.h"

#include <errno.h>

/* clang-format off */
static const struct arg_answer rows[] = {
	{1, LET_THROUGH, "PR_SET_PDEATHSIG", "a signal to the caller when its parent ends"},
	{2, LET_THROUGH, "PR_GET_PDEATHSIG", "as PR_SET_PDEATHSIG"},
	{3, LET_THROUGH, "PR_GET_DUMPABLE", "agents of ssh and gpg"},
	{4, LET_THROUGH, "PR_SET_DUMPABLE", "as PR_GET_DUMPABLE; of the caller alone"},
	{7, LET_THROUGH, "PR_GET_KEEPCAPS", "daemons that change users; there is no capability to keep"},
	{8, LET_THROUGH, "PR_SET_KEEPCAPS", "as PR_GET_KEEPCAPS"},
	{15, LET_THROUGH, "PR_SET_NAME", "the thread's name"},
	{16, LET_THROUGH, "PR_GET_NAME", "the thread's name"},
	{21, LET_THROUGH, "PR_GET_SECCOMP", "whether a filter is there"},
	{22, LET_THROUGH, "PR_SET_SECCOMP", "sandboxes of browsers and servers; a filter only narrows"},
	{23, LET_THROUGH, "PR_CAPBSET_READ", "libcap reads it"},
	{24, LET_THROUGH, "PR_CAPBSET_DROP", "the sandbox has no capability to drop; the kernel returns the error"},
	{25, LET_THROUGH, "PR_GET_TSC", "whether the time stamp counter can be read"},
	{26, LET_THROUGH, "PR_SET_TSC", "record and replay tools, for the caller alone"},
	{27, LET_THROUGH, "PR_GET_SECUREBITS", "libcap reads it"},
	{28, LET_THROUGH, "PR_SET_SECUREBITS", "the bits are locked; the kernel returns the error"},
	{29, LET_THROUGH, "PR_SET_TIMERSLACK", "how late the caller's timers may be"},
	{30, LET_THROUGH, "PR_GET_TIMERSLACK", "as PR_SET_TIMERSLACK"},
	{35, EPERM, "PR_SET_MM", "changes a process's command line and program in /proc; an ordinary user gets EPERM too"},
	{36, LET_THROUGH, "PR_SET_CHILD_SUBREAPER", "process supervisors: the caller becomes the parent of orphaned descendants"},
	{37, LET_THROUGH, "PR_GET_CHILD_SUBREAPER", "as PR_SET_CHILD_SUBREAPER"},
	{38, LET_THROUGH, "PR_SET_NO_NEW_PRIVS", "sandboxes; it is set already"},
	{39, LET_THROUGH, "PR_GET_NO_NEW_PRIVS", "as PR_SET_NO_NEW_PRIVS"},
	{41, LET_THROUGH, "PR_SET_THP_DISABLE", "Redis and databases: no transparent huge pages"},
	{42, LET_THROUGH, "PR_GET_THP_DISABLE", "as PR_SET_THP_DISABLE"},
	{47, LET_THROUGH, "PR_CAP_AMBIENT", "libcap reads it; there is nothing to raise"},
	{50, LET_THROUGH, "PR_SVE_SET_VL", "vector length of arm"},
	{51, LET_THROUGH, "PR_SVE_GET_VL", "as PR_SVE_SET_VL"},
	{52, LET_THROUGH, "PR_GET_SPECULATION_CTRL", "browsers and run-times, for the caller alone"},
	{53, LET_THROUGH, "PR_SET_SPECULATION_CTRL", "as PR_GET_SPECULATION_CTRL"},
	{54, LET_THROUGH, "PR_PAC_RESET_KEYS", "pointer authentication of arm"},
	{55, LET_THROUGH, "PR_SET_TAGGED_ADDR_CTRL", "memory tagging of arm: allocators"},
	{56, LET_THROUGH, "PR_GET_TAGGED_ADDR_CTRL", "as PR_SET_TAGGED_ADDR_CTRL"},
	{59, LET_THROUGH, "PR_SET_SYSCALL_USER_DISPATCH", "Wine; it only redirects calls of the caller to a signal handler"},
	{60, LET_THROUGH, "PR_PAC_SET_ENABLED_KEYS", "as PR_PAC_RESET_KEYS"},
	{61, LET_THROUGH, "PR_PAC_GET_ENABLED_KEYS", "as PR_PAC_RESET_KEYS"},
	{63, LET_THROUGH, "PR_SME_SET_VL", "as PR_SVE_SET_VL"},
	{64, LET_THROUGH, "PR_SME_GET_VL", "as PR_SVE_SET_VL"},
	{65, LET_THROUGH, "PR_SET_MDWE", "no memory that is writable and executable: hardened programs"},
	{66, LET_THROUGH, "PR_GET_MDWE", "as PR_SET_MDWE"},
	{74, LET_THROUGH, "PR_GET_SHADOW_STACK_STATUS", "guarded control stack of arm: the C library"},
	{75, LET_THROUGH, "PR_SET_SHADOW_STACK_STATUS", "as PR_GET_SHADOW_STACK_STATUS"},
	{76, LET_THROUGH, "PR_LOCK_SHADOW_STACK_STATUS", "as PR_GET_SHADOW_STACK_STATUS"},
	{0x41555856, LET_THROUGH, "PR_GET_AUXV", "the auxiliary vector: run-times"},
	{0x53564d41, LET_THROUGH, "PR_SET_VMA", "names of mappings: the C library and run-times"},
	{0x59616d61, LET_THROUGH, "PR_SET_PTRACER", "crash handlers, where Yama restricts tracing; of the caller alone"},
};
/* clang-format on */

const struct arg_answers prctl_answers = {
	.arg = 0, .otherwise = EINVAL, .count = ARRAY_LEN(rows), .rows = rows};
