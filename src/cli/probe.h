/* SPDX-License-Identifier: Apache-2.0 */
/* The acts of the `corral test` probe that are in a file of their own; data/acts.h has their
 * arguments.  Each returns 0, or -1 with errno set. */
#ifndef CORRAL_CLI_PROBE_H
#define CORRAL_CLI_PROBE_H

/* Print a text, and the content of a file with newlines for null bytes. */
int probe_print(const char *text);
int probe_print_file(const char *path);

int act_mount(char **words);
int act_fsmount(char **words);
int act_userns(char **words);
int act_node(char **words);
int act_device(char **words);
int act_set_id(char **words);
int act_execute(char **words);
int act_identity(char **words);
int act_trace(char **words);
int act_memory(char **words);

#endif
