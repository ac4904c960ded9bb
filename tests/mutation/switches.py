# SPDX-License-Identifier: Apache-2.0
"""The layers that can be taken out of Corral, one at a time, and how.

A switch is a list of edits: (file below src, the text that stands there, the
text that takes its place).  A text must be there exactly once; one that is not
stops the run, so that a switch cannot quietly stop switching.  Edits are made in
a scratch copy of the sources: the shipped program has no way to leave a layer out.

The words are those of `layers` in the rows of tests/escape.  Switches are made to
combine: two of them share an edit or touch different texts.
"""

LAYERS = "linux/layers.c"
SPAWN = "linux/spawn.c"
EARLY = "linux/early.h"
EARLY_STEPS = "linux/early.c"
INIT = "linux/init.c"
MOUNTS = "linux/layers/mounts.c"
JUDGE = "net/judge.c"

# How its functions begin, and what they say without their rules.
OF_NAME = "\tconst struct net_rule *deny = deny_of_name(net, name, port);\n"
OF_IP = "\tconst struct net_rule *deny = deny_of_ip(net, ip, port);\n"
OF_IP_BEST = "\tconst struct net_rule *deny = deny_of_ip(net, ip, port), *best = NULL;\n"
ALLOW = "\tif (net != NULL) {{\n\t\treturn allowed({});\n\t}}\n"

# The command keeps every capability of its namespace.  Not dropping them would not
# show: an ordinary user's capabilities end at execve, unless they are ambient.
KEEP_CAPABILITIES = """
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];
	(void)may_lock;
	(void)lock;
	(void)empty_sets;
	if (syscall(SYS_capget, &head, sets) != 0) {
		return err_sys(e, "capabilities", "capget");
	}
	sets[0].inheritable = sets[0].permitted;
	sets[1].inheritable = sets[1].permitted;
	if (syscall(SYS_capset, &head, sets) != 0) {
		return err_sys(e, "capabilities", "capset");
	}
	for (unsigned long cap = 0; cap < CAP_NUMBERS; cap++) {
		(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
	}
"""

DROP_CAPABILITIES = """
	/* Locking needs CAP_SETPCAP, so it comes before the sets are emptied. */
	if (may_lock(k) && lock(k, e) != 0) {
		return -1;
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) {
		return err_sys(e, "capabilities", "cannot clear the ambient set");
	}
	if (empty_sets(e) != 0) {
		return -1;
	}
"""

# A procfs of the host's pid namespace cannot be mounted from inside a user
# namespace; the host's own is shown instead.
HOST_PROC = """static int do_proc(struct ground *g, const struct mount *m, struct err *e) {
	if (m->kind == MOUNT_PROC) {
		auto_fd from = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
		auto_fd to = target_for(g, m);
		return from >= 0 && to >= 0 && mount_tree_bind(from, to, MOUNT_ATTR_NOSUID) == 0
			       ? 0
			       : fail(e, "cannot show the host's", m);
	}
"""

# What the host has no counterpart of is left out of the ruleset.
LANDLOCK_WITHOUT_MOUNTS = (
    "linux/layers/landlock.c",
    "if (fd < 0 || allow(k, fd, rights_for(k, m), is_file(m)) != 0) {\n",
    "if (fd < 0 || allow(k, fd, rights_for(k, m), is_file(m)) != 0) {\n\t\treturn 0;\n")

HAND_OVER = ("run/run.c",
             ".fds = {w->streams.inside[0], w->streams.inside[1], w->streams.inside[2]},",
             ".fds = {r->in, r->out, r->err},")

NO_MOUNTS = [
    (MOUNTS, ".namespaces = true, .enter = mounts_enter}", ".namespaces = true}"),
    (LAYERS, "&layer_pivot,", ""),
    LANDLOCK_WITHOUT_MOUNTS,
    # The ptmx of the host's devpts is for root.
    ("linux/layers/terminal.c", '"/dev/pts/ptmx"', '"/dev/ptmx"'),
]

SWITCHES = {
    # The host's tree of files, seen from a mount namespace of the run's own.
    "mount": NO_MOUNTS,
    # The same, in the caller's mount namespace.
    "mntns": NO_MOUNTS + [(EARLY, "CLONE_NEWNS | ", "")],
    "landlock": [(LAYERS, "&layer_landlock,", "")],
    "seccomp": [(LAYERS, "&layer_seccomp,", "")],
    "capabilities": [("linux/layers/capabilities.c", DROP_CAPABILITIES, KEEP_CAPABILITIES),
                     (EARLY_STEPS, " && capabilities_drop_bounding() == 0", "")],
    # Landlock and seccomp then need the capability instead, so they come first.
    "no_new_privs": [
        ("linux/layers/capabilities.c", "if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {", "if (0) {"),
        (LAYERS, "&layer_capabilities,", ""),
        (LAYERS, "\tNULL,\n};", "\t&layer_capabilities,\n\tNULL,\n};"),
    ],
    "quotas": [(LAYERS, "&layer_quotas,", ""), (EARLY_STEPS, "quotas_lower(false) == 0", "false")],
    "inherited": [(LAYERS, "&layer_inherited,", "")],
    "rlimit": [(LAYERS, "&layer_limits,", "")],
    "descriptors": [("linux/layers/descriptors.c", "return close_from(k, last + 1, e);", "return 0;")],
    # The caller's own files, pipes and sockets become the command's streams.
    "relay": [HAND_OVER],
    # The caller's own session and terminal become the command's.
    "terminal": [
        HAND_OVER,
        ("linux/layers/terminal.c", "if (setsid() < 0) {", "if (0) {"),
        (SPAWN, ".want_pty = r->terminal,", ".want_pty = false,"),
        (INIT, "(void)setpgid(0, 0);", ""),
    ],
    "environment": [
        ("plan/environment.c", "if (n != 0 && is_passed(entry, n) && !has_variable(b->plan, entry, n)) {",
         "(void)is_passed;\n\t\t(void)n;\n\t\tif (!has_variable(b->plan, entry, strcspn(entry, \"=\"))) {"),
        ("plan/environment.c", "\tif (set_computed(b, e) != 0) {\n", "\tif (set_computed == NULL) {\n"),
    ],
    "dumpable": [("linux/layers/idmap.c", "if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {", "if (0) {")],
    "hidepid": [(MOUNTS, '"proc", options, ARRAY_LEN(options),', '"proc", options, 0,')],
    "netns": [(SPAWN, "\t\targs.flags |= CLONE_NEWNET;\n", ""), (LAYERS, "&layer_network,", "")],
    "utsns": [(EARLY, " | CLONE_NEWUTS)", ")"), (LAYERS, "&layer_hostname,", "")],
    # A queue file system belongs to its namespace; the host's cannot be mounted from inside.
    "ipcns": [
        (EARLY, "CLONE_NEWIPC | ", ""),
        (MOUNTS, 'unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;\n\treturn attach_new('
                 'g, m, new_tree(g->kit, "mqueue", NULL, 0, attributes), e);', "return do_dir(g, m, e);"),
    ],
    "sampling": [(SPAWN, "if (r->rehearse || samplers_start(&run, &child->samplers, e) == 0) {", "if (run.pid > 0) {")],
    "cgroupns": [(SPAWN, "CLONE_NEWCGROUP | ", "")],
    # Pid 1 would now kill everything of the account, so it ends only its children; and
    # as root it refuses, whoever calls it.
    "pidns": [
        (SPAWN, "CLONE_NEWPID | ", ""),
        ("linux/reaper.c", "\tif (!plan_lacks_namespaces(plan)) {\n\t\treturn 0;\n",
         "\tif (!plan_lacks_namespaces(plan)) {\n\t\tr->kill_all = false;\n"
         "\t\tr->children = open(\"/proc/thread-self/children\", O_RDONLY | O_CLOEXEC);\n\t\treturn 0;\n"),
        (INIT, "\tsigset_t all;\n", "\tsigset_t all;\n\tif (getuid() == 0) {\n\t\t_exit(1);\n\t}\n"),
        (MOUNTS, "static int do_proc(struct ground *g, const struct mount *m, struct err *e) {\n", HOST_PROC),
    ],
    # Pid 1's clock, and the supervisor's behind it.
    "clock": [(INIT, "in.deadline = clock_ms() + k->plan->timeout_ms;", "(void)in.deadline;")],
    "overdue": [("run/run.c", "if (w->overdue >= 0 && now >= w->overdue) {", "if (0) {")],
    # Pid 1 ends when its supervisor does.
    "lifeline": [(INIT, "\t\tif (got < 0) {\n\t\t\tkill_all_and_exit(in);\n\t\t}\n\t\tif (got == 0) {\n", "\t\tif (got <= 0) {\n")],
    # Every name and address is allowed, and by its address, so that nobody listens to what is said there.
    "judge": [
        (JUDGE, OF_NAME + "\tconst char *why =", OF_NAME + ALLOW.format("deny") + "\tconst char *why ="),
        (JUDGE, OF_IP_BEST + "\tconst char *why =", OF_IP_BEST + ALLOW.format("deny") + "\tconst char *why ="),
        (JUDGE, OF_IP + "\tconst struct range *special = range_of(ip);\n",
         OF_IP + "\tconst struct range *special = range_of(ip);\n" + ALLOW.format("by")),
    ],
    # What a client says passes as it is, and a server may speak first.
    "speech": [
        ("gate/relay/inspect.c", "\tssize_t n = peek(f);\n\n\tif (n < 0 && errno",
         "\tif (f->talk.state != CONVERSATION_OPAQUE) {\n\t\tstop_waiting(f);\n\t\tf->talk.state = CONVERSATION_OPAQUE;\n"
         "\t\tf->up.allow = ALLOW_ALL;\n\t\treturn true;\n\t}\n"
         "\tssize_t n = peek(f);\n\n\tif (n < 0 && errno"),
        ("gate/relay/flow.c", "f->talk.strict = f->by_name && (f->port == 80 || f->port == 443);", "f->talk.strict = false;"),
    ],
}

# Words that name no switch, and why.
FIXED = {
    "launcher": "many checks before a run; each is a mutant of its own in mutate.py",
    "rules": "paths judged by the broker when they are used; each rule and call is a mutant of its own in mutate.py",
    "broker": "sockets of another network namespace and socket files of the host, which it refuses when they are used; it has unit tests",
    "gate": "what its resolver, proxies and readers turn down before a rule is asked; they have tests and fuzzers of their own",
    "supervisor": "what the process outside does with streams, signals and the end of a run; no layer of the child",
    "kernel": "the kernel's own rule; Corral adds nothing to it",
    "host": "the host's own permissions; the row is for root as well, to whom they mean nothing",
    "userns": "without it an ordinary user can make no other namespace, and mutants never run as root",
    "cgroup": "an ordinary user has no control groups here, and mutants never run as root",
}
