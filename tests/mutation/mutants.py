# SPDX-License-Identifier: Apache-2.0
"""What is taken out of Corral, one thing at a time, to see whether a test notices.

TABLES are tables of the sources: each of their rows is one mutant, found by a
generic reader, so that a new row is a new mutant.  STEPS are single texts with a
name, written as the edits of switches.py are.

`behind` names layers that are switched off as well, so that the thing under test
stands alone: a rule of the filter shows nothing while a capability is missing too.
`rows` are the escape rows that are asked first; "named" are those that speak of the
mutant by its name.  EXPLAINED says why a mutant that
nothing notices is none.
"""

FILTER = ("capabilities", "landlock", "quotas")


def refusals(name, rows):
    """A table of arguments that the filter refuses."""
    return "data/syscall_checks.c", f"refusals_{name}[] = {{", r'"([^"]+)"', FILTER, rows


def paths(name, rows, behind=()):
    """A table of data/paths.c."""
    return "data/paths.c", f"{name}_rows[] = {{", r'path = "([^"]+)"', behind, rows


# name: (file, where the table begins, a pattern whose group names a row, behind, rows)
TABLES = {
    "syscall_rules": ("data/syscalls.c", "const struct syscall_rule syscall_rules[] = {", r"\(\w+, (\w+)",
                      FILTER, "named"),
    "ioctl_rows": ("data/ioctls.c", "static const struct arg_answer rows[] = {", r'"([^"]+)"', FILTER, "SC06"),
    "refusals_socket": refusals("socket", "MT18 NN06 NN08 NN09 NN10 NN11 SC05"),
    "prctl_rows": ("data/prctls.c", "static const struct arg_answer rows[] = {", r'"([^"]+)"', FILTER, "SC42"),
    "sockopt_rows": ("data/sockopts.c", "static const struct arg_answer rows[] = {", r'"([^"]+)"', FILTER, "SC41"),
    "syscall_names": ("data/syscalls.inc", "until then the filter answers ENOSYS. */\n", r"\((\w+)", (), ""),
    "system_roots": paths("system_roots", "SC34 FS02"),
    "minimal_etc": paths("minimal_etc", ""),
    "host_skipped": paths("host_skipped", "MT01"),
    "windows": paths("windows", "FS39 FS40 RS04 IP02"),
    "skeleton_links": paths("skeleton_links", "FS23 PF11"),
    "devices": paths("devices", "PF11 PR19"),
    "proc_readonly": paths("proc_readonly", "PF02 NS07 NS19", ("landlock",)),
    "proc_hidden": paths("proc_hidden", "named", ("landlock",)),
    "sensitive_paths": paths("sensitive_paths", "MT02 MT27"),
    "credential_paths": ("data/credentials.c", "credential_paths_rows[] = {", r'path = "([^"]+)"', (), "MT03"),
    "credential_names": paths("credential_names", "MT04"),
    "reserved_paths": paths("reserved_paths", "MT06"),
    "generic_parents": paths("generic_parents", "named"),
    "toolchains": ("data/paths.c", "const struct toolchain toolchains[] = {", r'"([^"]+)"', (), "MT04"),
    "environment": ("data/environment.c", "const struct env_row env_rows[] = {", r'"([^"]+)"', (), "MT08 MT09"),
    "grounds": ("policy/check.c", "static const struct ground grounds[] = {", r'"([^"]+)"', (), "MT07"),
    "computed": ("policy/check.c", "} computed[] = {", r'"([^"]+)"', (), "MT09"),
    "quotas": ("linux/layers/quotas.c", "static const struct quota quotas[] = {", r'"([^"]+)"',
               ("seccomp", "capabilities"), "NS01 NS03 MT10"),
    "landlock_additions": ("linux/layers/landlock.c", "} additions[] = {", r"\{(\d+)",
                           ("mount", "pidns", "netns"), "FS10 MT17 PR01 IP12 FS01"),
    "rlimit_keys": ("plan/limits.c", "rlimit_keys[] = {", r"KEY_(\w+)", (), "RS"),
}

MOUNTS = "linux/layers/mounts.c"
TREES = "linux/mount_api.h"
LANDLOCK = "linux/layers/landlock.c"
INIT = "linux/init.c"
LINKS = "linux/broker/hardlinks.c"
MASKS = "plan/masks.c"
CAPABILITIES = "linux/layers/capabilities.c"
VIEW = "plan/view.c"
CHECK = "policy/check.c"
DESCRIPTORS = "linux/layers/descriptors.c"


def step(file, old, new, rows, behind=()):
    """One text for another."""
    return [(file, old, new)], behind, rows


def no_check(name, rows):
    """A checked call whose arguments are not looked at."""
    old = f"[CHECK_{name.upper()}] = CHECK_ROWS(refusals_{name})"
    return step("data/syscall_checks.c", old, f"[CHECK_{name.upper()}] = {{refusals_{name}, 0}}", rows, FILTER)


def let_through(request, rows):
    """A refused ioctl request that is let through."""
    return step("data/ioctls.c", f'EPERM, "{request}"', f'LET_THROUGH, "{request}"', rows, FILTER)


# name: (edits, behind, rows)
STEPS = {
    # The filter: arguments.
    "filter: arguments of clone": no_check("clone", "NS01 NS04"),
    "filter: arguments of unshare": no_check("unshare", "NS01 NS02 NS03"),
    "filter: arguments of personality": no_check("personality", "SC24"),
    "filter: arguments of ioctl": step(
        "data/ioctls.c", ".otherwise = ENOTTY", ".otherwise = LET_THROUGH", "SC06a SC07", FILTER),
    "filter: arguments of prctl": step(
        "data/prctls.c", ".otherwise = EINVAL", ".otherwise = LET_THROUGH", "SC42", FILTER),
    "filter: arguments of setsockopt": step(
        "data/sockopts.c", ".otherwise = ENOPROTOOPT", ".otherwise = LET_THROUGH", "SC41", FILTER),
    "filter: arguments of mmap": no_check("mmap", "SC45"),
    "filter: arguments of memfd_create": no_check("memfd", "SC45"),
    "filter: arguments of madvise": no_check("madvise", "SC45"),
    "filter: arguments of shmget": no_check("shmget", "SC45a"),
    "filter: pid 1 as an argument": no_check("first_process", "PR06f"),
    "filter: arguments of setpriority": no_check("setpriority", "PR06f PR06g PR06h"),
    "filter: arguments of ioprio_set": no_check("ioprio", "PR06f"),
    "filter: arguments of socketpair": no_check("socketpair", "NN12"),
    "filter: second argument as a mode": no_check("mode_second", "MT14 SC44"),
    "filter: third argument as a mode": no_check("mode_third", "MT14 SC44"),
    "filter: mode of open": no_check("open", "MT14"),
    "filter: mode of openat": no_check("openat", "MT14"),
    "filter: TIOCSTI": let_through("TIOCSTI", "SC06"),
    "filter: TIOCLINUX": let_through("TIOCLINUX", "SC06"),
    "filter: TIOCCONS": let_through("TIOCCONS", "SC06"),
    "filter: TIOCSETD": let_through("TIOCSETD", "SC06"),
    # Mounts: flags, recursion, propagation.
    "bind: nosuid": step(
        TREES, "return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |",
        "return MOUNT_ATTR_NODEV |",
        "NS19 FS36"),
    "bind: nodev": step(
        TREES, "return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |",
        "return MOUNT_ATTR_NOSUID |",
        "MT24"),
    "bind: read-only": step(
        TREES, "MOUNT_ATTR_NODEV | (m->writable ? 0 : MOUNT_ATTR_RDONLY);",
        "MOUNT_ATTR_NODEV;",
        "NS19 FS26 FS44 FS45 DN07", ("landlock",)),
    "bind: attributes reach submounts": step(
        TREES, "mount_tree_restrict(tree, attributes, AT_RECURSIVE)",
        "mount_tree_restrict(tree, attributes, 0)",
        "FS26 NS19", ("landlock",)),
    "bind: submounts are shown": step(
        TREES, "AT_SYMLINK_NOFOLLOW | AT_RECURSIVE);", "AT_SYMLINK_NOFOLLOW);", "FS26"),
    "bind: private propagation": step(
        TREES, ".attr_set = set, .propagation = MS_PRIVATE}",
        ".attr_set = set}",
        "FS27", ("landlock",)),
    "device: read-only": step(
        TREES, "return MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;",
        "return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;",
        "NS19"),
    "device: nosuid": step(
        TREES, "return MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;",
        "return MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC;",
        "NS19"),
    "device: noexec": step(
        TREES, "return MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;",
        "return MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;",
        ""),
    "mask file: read-only": step(
        MOUNTS, "g->masked ? 0 : MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID",
        "g->masked ? 0 : MOUNT_ATTR_NOSUID",
        "DN26 NS19 DN01b"),
    "mask directory: not listable": step(MOUNTS, '"0111" : "0755"', '"0777" : "0755"', "DN01a"),
    "mask directory: sealed": step(
        MOUNTS, "if (fd < 0 || mount_tree_restrict(fd, MOUNT_ATTR_RDONLY, 0) != 0) {",
        "if (fd < 0) {",
        "DN01a NS19"),
    "root: sealed": step(
        MOUNTS, "mount_tree_restrict(g->root, MOUNT_ATTR_RDONLY, 0) != 0) {",
        "0) {",
        "NS19", ("landlock",)),
    "root: size": step(MOUNTS, '{"size", decimal(k->plan->tmp_size, digits)},', "", "RS04"),
    "root: the old one is left": step(
        "linux/layers/pivot.c", 'umount2(".", MNT_DETACH) != 0 || ',
        "",
        "FS01 FS02 FS20 NS19", ("landlock",)),
    "root: mask file is unlinked": step(MOUNTS, "unlinkat(g->root, MASK_NAME, 0) != 0 ||", "", "MT26"),
    "pin: read-only": step(
        MOUNTS, "MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (closed ? MOUNT_ATTR_RDONLY : 0);",
        "MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;\n\t(void)closed;",
        "PF02 NS07 NS19", ("landlock",)),
    "proc: hidepid": step(
        MOUNTS, '"proc", options, ARRAY_LEN(options),',
        '"proc", options, 0,',
        "MT25"),
    "source: no symlink": step(
        MOUNTS, "O_PATH,\n\t\t\t     RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);",
        "O_PATH, 0);",
        "SU01 SU04"),
    "source: identity": step(MOUNTS, "(m->ino != 0 && (st.st_dev != m->dev || st.st_ino != m->ino))", "0", "SU01 SU04"),
    "target: no symlink": step(
        TREES, "#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)",
        "#define BENEATH RESOLVE_BENEATH",
        "SU01 SU04"),
    # Landlock: a reach that grants more than its name, with nothing else in the way.
    "landlock: list grants reading": step(
        LANDLOCK, "#define RIGHTS_LIST LL_FS_READ_DIR",
        "#define RIGHTS_LIST RIGHTS_READ",
        "FS02 FS50", ("mount",)),
    "landlock: read grants writing": step(
        LANDLOCK, "[REACH_READ] = RIGHTS_READ,",
        "[REACH_READ] = RIGHTS_WRITE,",
        "PF02 FS45", ("mount",)),
    "landlock: exec grants writing": step(
        LANDLOCK, "[REACH_EXEC] = RIGHTS_EXEC,",
        "[REACH_EXEC] = RIGHTS_WRITE,",
        "FS44 FS45", ("mount",)),
    "landlock: devices can be made": step(
        LANDLOCK, "LL_FS_MAKE_FIFO | LL_FS_MAKE_SYM",
        "LL_FS_MAKE_FIFO | (1ULL << 6) | (1ULL << 11) | LL_FS_MAKE_SYM",
        "FS16a"),
    "landlock: signals are scoped": step(
        LANDLOCK, "LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL",
        "LL_SCOPE_ABSTRACT_UNIX",
        "PR01", ("pidns",)),
    "landlock: abstract sockets are scoped": step(
        LANDLOCK, "LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL",
        "LL_SCOPE_SIGNAL",
        "IP12", ("netns",)),
    # Capabilities, step by step.
    "capabilities: bounding set": step(
        CAPABILITIES, "rc = raw_call(SYS_prctl, PR_CAPBSET_DROP, cap);", "rc = 0;", "NS20"),
    "capabilities: ambient set": step(
        CAPABILITIES, "if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) {",
        "if (0) {",
        "NS20"),
    "capabilities: securebits": step(
        CAPABILITIES, "if (prctl(PR_SET_SECUREBITS, LOCKED_BITS, 0, 0, 0) != 0) {",
        "if (0) {",
        "NS20"),
    "capabilities: the sets": step(CAPABILITIES, "if (empty_sets(e) != 0) {", "if (0) {", "NS20"),
    # Descriptors, terminal, directory.
    "descriptors: the rest is closed": step(
        DESCRIPTORS, "return close_from(k, last + 1, e);",
        "return 0;",
        "EV09 FS22"),
    "descriptors: the channel is close-on-exec": step(
        DESCRIPTORS, "dup3(k->channel_fd, channel, O_CLOEXEC)",
        "dup3(k->channel_fd, channel, 0)",
        "EV09 SU15"),
    "directory: umask": step("linux/layers/directory.c", "(void)umask(k->umask);", "(void)umask(0);", "MT11"),
    "terminal: session": step("linux/layers/terminal.c", "if (setsid() < 0) {", "if (0) {", "PR16 PR19"),
    # Pid 1.
    "init: kills what is left": step(
        "linux/reaper.c", "\tdo {\n\t\treaper_signal(r, SIGKILL);\n",
        "\tdo {\n",
        "PR08 PR13"),
    "init: waits for the dead": step(
        "linux/reaper.c", "} while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);",
        "} while (0);",
        "PR08"),
    "init: clock": step(
        INIT, "in.deadline = clock_ms() + k->plan->timeout_ms;",
        "(void)in.deadline;",
        "RS12 PR09", ("overdue",)),
    "init: kills after the grace": step(
        INIT, "in->deadline = LIMIT_NONE;\n\treaper_signal(&in->reaper, SIGKILL);",
        "in->deadline = LIMIT_NONE;",
        "RS12 PR09", ("overdue",)),
    "init: asks before it kills": step(INIT, "\treaper_signal(&in->reaper, SIGTERM);\n", "", "MT29"),
    "init: lifeline": step(
        INIT, "\t\tif (got < 0) {\n\t\t\tkill_all_and_exit(in);\n\t\t}\n\t\tif (got == 0) {\n", "\t\tif (got <= 0) {\n", "SU10"),
    "init: signals are reset": step("linux/spawn.c", "\tsignals_reset();\n", "", "SU14 SU14a"),
    "init: the signal mask is emptied": step(
        INIT, "(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, _NSIG / 8);",
        "",
        "MT28"),
    "init: a group of its own": step(INIT, "(void)setpgid(0, 0);", "", "PR02 PR08 PR10"),
    "user: not dumpable": step(
        "linux/layers/terminal.c", "if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {",
        "if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) {",
        "PR04a EV03"),
    # Limits.
    "limits: core files": step("plan/limits.c", "\t{RLIMIT_CORE, 1},\n", "", "PR22 RS13"),
    "limits: message queues": step("plan/limits.c", "\t{RLIMIT_MSGQUEUE, 819200 / 2},\n", "", "RS09"),
    "limits: timers": step("plan/limits.c", "\t{RLIMIT_SIGPENDING, 4096},\n", "", "RS09"),
    "limits: the hard limit": step(
        "linux/layers/limits.c", "next = {(rlim_t)row->value, (rlim_t)row->value + extra};",
        "next;\n\t(void)prlimit(0, row->resource, NULL, &now);\n"
        "\tnext = (struct rlimit){(rlim_t)row->value, now.rlim_max - 0 * extra};",
        "RS13 PR22"),
    # The plan: denies, protected paths, homes, grants.
    "deny: hard links are counted": step(MASKS, " || hard_links_check(b, e) != 0) {", ") {", "DN04"),
    "deny: other names of what a pattern denies": step(
        LINKS, "bool concerns = S_ISREG(st.st_mode) && st.st_nlink > 1;", "bool concerns = false;", "DN48"),
    "deny: a directory that was closed": step(
        LINKS, "st.st_uid != (uid_t)syscall(SYS_geteuid);", "true;", "DN48"),
    "deny: a name that was removed": step(LINKS, "return named ? 0 : -EACCES;", "return named ? 0 : 0;", "DN48"),
    "deny: a directory that moved meanwhile": step(
        LINKS, "search_all(b) == 0 && search_moved(b) == 0", "search_all(b) == 0", "DN48"),
    "deny: a closed parent is hidden": step(
        MASKS, "if (h.path == NULL && rank == RANK_DENY) {",
        "if (0) {",
        "DN15 DN16"),
    "deny: not above the workspace": step(
        MASKS, "if (path_within(b->plan->workspace, h.path)) {",
        "if (0) {",
        "DN18"),
    "deny: takes grants away": step(
        MASKS, "if (takes_away(h, w)) {",
        "(void)takes_away;\n\t\tif (0) {",
        "DN17 DN31"),
    "deny: every place of the path": step(
        MASKS, "\t\tapply_to_places(b, &b->hides[i], ntrees);\n",
        "\t\t(void)apply_to_places;\n\t\t(void)ntrees;\n",
        "DN01 DN02"),
    "protect: trees become read-only": step(
        MASKS, "\t\t\tw->m.writable = false;\n\t\t\tw->m.reach = REACH_EXEC;\n",
        "",
        "DN07 DN08 DN35"),
    "protect: the project file": step(
        MASKS, "\town_keep_files(b);\n",
        "\t(void)own_keep_files;\n",
        "SU25"),
    "git: what decides is kept": step(
        MASKS, "\tgit_protect(b);\n",
        "\t(void)git_protect;\n",
        "PS01 PS03 PS04 PS05 PS07 PS08 PS09 PS21 PS34"),
    "git: the other side agrees": step(
        "plan/git/git.c", "return agrees(b, r) ? NULL",
        "(void)agrees;\n\treturn true ? NULL",
        "PS08a"),
    "git: configuration that variables name": step(
        "linux/probe.c", '\tadd_named(a, h, "GIT_CONFIG_GLOBAL");\n\tadd_named(a, h, "GIT_CONFIG_SYSTEM");\n',
        "\t(void)add_named;\n",
        "PS21c"),
    "git: credentials are removed": step(
        "plan/git/protect.c", "} else if (got != GIT_CLEAN_SAME && ",
        "} else if (0 && ",
        "PS34"),
    "own files are hidden": step(MASKS, "if (hide_own(b, e) != 0 || ", "(void)hide_own;\n\tif (", "MT19"),
    "own files cannot be made": step(
        MASKS, "if (own_dir_missing(b, dir, e) != 0) {",
        "(void)own_dir_missing;\n\t\t\tif (0) {",
        "MT20"),
    "other homes are hidden": step(MASKS, "\thide_other_homes(b);\n", "\t(void)hide_other_homes;\n", "MT23"),
    "pins of ancestors": step(
        "plan/compose.c", "pin_ancestors(b, fixed[i].m.target, outer);",
        "(void)pin_ancestors;",
        "DN05 DN06 DN35 SU61.toolchain"),
    "a stopped child is killed": step(
        "linux/broker/domain.c", "__WALL | WUNTRACED", "__WALL",
        "NE16"),
    "homes are shared by like runs": step(
        "linux/home_set.c", "if (join_at_once(dir, set)) {",
        "if (join_at_once(dir, set) || lock(dir, LOCK_SH)) {",
        "SU60"),
    "grants: reserved paths": step(
        VIEW, "const char *why = plan_reserved_reason(s->path);\n\tif (why == NULL) {\n\t\twhy = plan_reserved_reason("
              "s->canonical);\n\t}\n",
        "const char *why = NULL;\n",
        "MT06"),
    "grants: own directories": step(
        VIEW, "if (why == NULL && !s->tool && plan_own_dir(b, s->canonical) != NULL) {", "if (0) {", "MT21"),
    "grants: links that an earlier command left": step(
        VIEW, "if (why == NULL && view_led_astray(b, s->path, s->canonical)) {", "if (0) {", "SU29 SU29a SU29b"),
    "grants: neither sockets nor devices": step(
        VIEW, "\twhy = wrong_kind(s->seen.kind);\n", "\t(void)wrong_kind;\n",
        "MT22"),
    "mode: read-only workspace": step(
        VIEW, "!b->read_only, RANK_WORKSPACE, e)",
        "true, RANK_WORKSPACE, e)",
        "FS44"),
    "home: private": step(
        "plan/home.c", "\t\treturn;\n\t}\n\tshow_private_home(b);\n",
        "\t\treturn;\n\t}\n\t(void)show_private_home;\n",
        "FS50 FS51"),
    # The policy.
    "policy: narrowing is checked": step(
        "policy/resolve.c", "(!s->trusted && layer_narrows(&r->policy, &layer, e) != 0)",
        "0",
        ""),
    "policy: deny against grants": step(
        CHECK, "if (check_denied_item(p, &deny->items[i], e) != 0) {",
        "(void)check_denied_item;\n\t\tif (0) {",
        "DN17 DN18"),
    "policy: chdir": step(CHECK, "check_chdir(p, fs, e) != 0 || ", "", "SU05"),
    "policy: a workspace is a directory": step(VIEW, "if (seen.kind != LOOK_DIR) {", "if (0) {", "SU24"),
}

# Every `narrow` of a key, made free.
NARROW = ("data/keys.c", r'\.name = "([^"]+)",\n\s*\.type = \w+,\n\s*\.narrow = (NARROW_(?!FREE)\w+),', "NARROW_FREE")

# (pattern of mutant names, why no live attempt can notice)
EXPLAINED = [
    (r"syscall_rules: (pidfd_open|process_vm_(read|write)v|ptrace|adjtimex|clock_adjtime)",
     "the row says why a call is permitted; it is permitted without it too"),
    (r"syscall_rules: (acct|fanotify_init|swapoff|swapon|syslog|userfaultfd|vhangup|reboot|open_by_handle_at)",
     "the kernel asks first for a capability in the host's own user namespace, which nobody inside can have"),
    (r"syscall_rules: (afs_syscall|epoll_(ctl|wait)_old|getpmsg|putpmsg|security|tuxcall|vserver)",
     "no kernel has the call: its own answer is ENOSYS too"),
    (r"refusals_socket: raw sockets", "the next row refuses them as well, with another error"),
    (r"landlock_additions: 5", "no device lies outside /dev, where its requests are granted"),
    (r"steps: device: noexec", "the kernel executes no device, whatever its mount says"),
    (r"steps: mask directory: not listable", "it holds nothing but the names of the grants beneath it"),
    (r"steps: (source: no symlink|source: identity|target: no symlink)",
     "paths are canonical when they are planned: only one that is swapped between plan and mount shows it"),
    (r"steps: landlock: read grants writing", "what may only be read belongs to root, and mutants do not run as root"),
    (r"steps: capabilities: (ambient set|securebits|the sets)",
     "an ordinary user has no ambient capability and loses the others at execve; mutants do not run as root"),
    (r"steps: init: waits for the dead", "the kernel ends what is left when pid 1 does, only a moment later"),
    (r"grounds: /(bin|lib|lib32|lib64|libx32|sbin)", "a link into /usr here, which has a row of its own"),
    (r"grounds: /run", "the plan refuses it as well: reserved_paths"),
    (r"steps: init: a group of its own", "for job control; no signal from inside reaches pid 1, whatever its group"),
    (r"steps: policy: a workspace is a directory", "resolving the policy refuses it before the plan does"),
    (r"narrow: (workspace|any_workspace)", "project_keeps_workspace() refuses the key in a project's file as well"),
    (r"generic_parents: \.config", "the table of credentials has the directory as well"),
    (r"host_skipped: (dev|run|tmp)", "a directory of the sandbox's own has the same place and wins"),
    (r"proc_(hidden|readonly): /proc/(?!sys$|pressure|keys|key-users).*",
     "only root is kept from it, and mutants do not run as root"),
    (r"host_skipped: lost\+found", "only root can enter it, and mutants do not run as root"),
]
