/* SPDX-License-Identifier: Apache-2.0 */
/* The entry: finds the attempt by name in the tables of its siblings. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int probe_result(long answer) {
	if (answer >= 0) {
		printf("result=ok\n");
		return 0;
	}
	printf("result=%s\n", probe_errno_name(errno));
	return 1;
}

const char *probe_errno_name(int number) {
	const char *name = strerrorname_np(number);
	return name == NULL ? "UNKNOWN" : name;
}

long probe_number(const char *text) {
	char *end = NULL;
	errno = 0;
	long value = strtol(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0') {
		fprintf(stderr, "probe: %s is not a number\n", text);
		exit(2);
	}
	return value;
}

int probe_print_fd(int fd) {
	char text[4096];
	if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
		return probe_result(-1);
	}
	ssize_t got = read(fd, text, sizeof(text));
	if (got < 0) {
		return probe_result(-1);
	}
	printf("bytes=%zd\n", got);
	fwrite(text, 1, (size_t)got, stdout);
	printf("\n");
	return probe_result(0);
}

static const struct probe *find(const char *name) {
	const struct probe_table *const tables[] = {
		&probe_files,    &probe_calls, &probe_kernel,  &probe_process, &probe_others,
		&probe_ipc,      &probe_net,   &probe_connect, &probe_load,    &probe_pools,
		&probe_requests, &probe_wrap,  &probe_shared,  &probe_passing,
	};
	for (size_t t = 0; t < PROBE_COUNT(tables); t++) {
		for (size_t i = 0; i < tables[t]->count; i++) {
			if (strcmp(tables[t]->rows[i].name, name) == 0) {
				return &tables[t]->rows[i];
			}
		}
	}
	return NULL;
}

int main(int argc, char **argv) {
	/* What was printed must not be lost when the attempt ends in a signal. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	const struct probe *probe = argc > 1 ? find(argv[1]) : NULL;
	if (probe == NULL) {
		fprintf(stderr, "probe: no attempt has that name\n");
		return 2;
	}
	if (argc - 2 < probe->min_args) {
		fprintf(stderr, "probe: %s %s\n", probe->name, probe->usage);
		return 2;
	}
	return probe->run(argc - 1, argv + 1);
}
