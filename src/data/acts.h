/* SPDX-License-Identifier: Apache-2.0 */
/* The acts of the `corral test` probe: the arguments that the library passes and the program
 * parses.  The probe runs with the same arguments in the sandbox and, as a control, outside. */
#ifndef CORRAL_DATA_ACTS_H
#define CORRAL_DATA_ACTS_H

/* The first argument of the probe.  It is not a documented verb, and harmless: the probe
 * does nothing that its caller could not do. */
#define PROBE_WORD "test-probe"

/* Before an act: do it in a grandchild that leads a session of its own. */
#define ACT_CHILD "child"

#define ACT_WRITE "write"             /* PATH: append PROBE_MARK, making the file if need be */
#define ACT_READ "read"               /* PATH: print its content */
#define ACT_UNIX "unix"               /* PATH: connect to a socket */
#define ACT_ABSTRACT "abstract"       /* NAME: connect to an abstract socket */
#define ACT_TCP "tcp"                 /* PORT: connect to it on 127.0.0.1 */
#define ACT_UDP "udp"                 /* PORT: send a datagram to it on 127.0.0.1 */
#define ACT_SIGNAL "signal"           /* PID: SIGKILL it */
#define ACT_FIND "find"               /* HEAD TAIL: find a process with HEADTAIL in its argv */
#define ACT_ENVIRONMENT "environment" /* PID: print every readable variable, also of PID */
#define ACT_SPILL "spill"             /* N: print that many bytes */
#define ACT_SLEEP "sleep"             /* TOKEN: one process that waits to be found or killed */
#define ACT_STAY "stay"               /* TOKEN: two processes that do not end by themselves */
#define ACT_LEAVE "leave"             /* TOKEN: end, and leave such a process behind */
#define ACT_MOUNT "mount"             /* DIR SOURCE: mount(2) a tmpfs, print the mounts */
#define ACT_FSMOUNT "fsmount"         /* DIR SOURCE: the same by fsopen(2) and move_mount(2) */
#define ACT_USERNS "userns"           /* create a user namespace */
#define ACT_NODE "node"               /* PATH: make a block device */
#define ACT_DEVICE "device"           /* PATH: open a device */
#define ACT_SET_ID "set-id"           /* PATH: set the set-user-id bit */
#define ACT_EXECUTE "execute"         /* PATH: execute this copy of corral, for ACT_IDENTITY */
#define ACT_IDENTITY "identity"       /* tell whether this program has more ids than its caller */
#define ACT_TRACE "trace"             /* PID: trace it, so that it dies with the tracer */
#define ACT_MEMORY "memory"           /* PID ADDRESS: print the memory of a process */

#define PROBE_MARK "a mark of the probe\n"
#define PROBE_FOUND "found the process\n"
#define PROBE_STAYING "staying\n"
#define PROBE_GAINED "gained\n"

/* The last line of an act: this alone, or followed by the name of an errno. */
#define PROBE_DONE "\nprobe: done\n"
#define PROBE_REFUSED "\nprobe: refused: "

#endif
