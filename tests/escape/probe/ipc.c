/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts on System V and POSIX objects and on kernel keyrings that somebody
 * outside left under a known name. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROOM 128

struct message {
	long type;
	char text[ROOM];
};

static int shm_make(int argc, char **argv) {
	(void)argc;
	int id = shmget((key_t)probe_number(argv[1]), ROOM, IPC_CREAT | IPC_EXCL | 0600);
	char *at = id < 0 ? NULL : shmat(id, NULL, 0);
	if (at == NULL || (intptr_t)at == -1) {
		return probe_result(-1);
	}
	snprintf(at, ROOM, "%s", argv[2]);
	return probe_result(0);
}

static int shm_read(int argc, char **argv) {
	(void)argc;
	int id = shmget((key_t)probe_number(argv[1]), 0, 0);
	const char *at = id < 0 ? NULL : shmat(id, NULL, SHM_RDONLY);
	if (at == NULL || (intptr_t)at == -1) {
		return probe_result(-1);
	}
	printf("stolen=%s\n", at);
	return probe_result(0);
}

static int shm_remove(int argc, char **argv) {
	(void)argc;
	int id = shmget((key_t)probe_number(argv[1]), 0, 0);
	return probe_result(id < 0 ? -1 : shmctl(id, IPC_RMID, NULL));
}

static int msg_make(int argc, char **argv) {
	(void)argc;
	struct message message = {.type = 1};
	int id = msgget((key_t)probe_number(argv[1]), IPC_CREAT | IPC_EXCL | 0600);
	snprintf(message.text, ROOM, "%s", argv[2]);
	return probe_result(id < 0 ? -1 : msgsnd(id, &message, ROOM, IPC_NOWAIT));
}

static int msg_read(int argc, char **argv) {
	(void)argc;
	struct message message;
	int id = msgget((key_t)probe_number(argv[1]), 0);
	if (id < 0 || msgrcv(id, &message, ROOM, 0, IPC_NOWAIT) < 0) {
		return probe_result(-1);
	}
	printf("stolen=%.*s\n", ROOM, message.text);
	return probe_result(0);
}

static int msg_remove(int argc, char **argv) {
	(void)argc;
	int id = msgget((key_t)probe_number(argv[1]), 0);
	return probe_result(id < 0 ? -1 : msgctl(id, IPC_RMID, NULL));
}

static int mq_make(int argc, char **argv) {
	(void)argc;
	struct mq_attr shape = {.mq_maxmsg = 1, .mq_msgsize = ROOM};
	mqd_t queue = mq_open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0600, &shape);
	return probe_result(queue < 0 ? -1 : mq_send(queue, argv[2], strlen(argv[2]), 0));
}

static int mq_read(int argc, char **argv) {
	(void)argc;
	char text[ROOM] = "";
	mqd_t queue = mq_open(argv[1], O_RDONLY | O_NONBLOCK);
	if (queue < 0 || mq_receive(queue, text, sizeof(text), NULL) < 0) {
		return probe_result(-1);
	}
	printf("stolen=%.*s\n", ROOM, text);
	return probe_result(0);
}

static int mq_remove(int argc, char **argv) {
	(void)argc;
	return probe_result(mq_unlink(argv[1]));
}

#define KEYRING_USER (-4)
#define KEYCTL_SEARCH_ 10
#define KEYCTL_READ_ 11
#define KEYCTL_UNLINK_ 9
#define KEYCTL_SETPERM_ 5
#define KEY_ALL_FOR_OWNER 0x3f3f0000

static int key_make(int argc, char **argv) {
	(void)argc;
	long key = syscall(SYS_add_key, "user", argv[1], argv[2], strlen(argv[2]), KEYRING_USER);
	if (key < 0) {
		return probe_result(-1);
	}
	return probe_result(syscall(SYS_keyctl, KEYCTL_SETPERM_, key, KEY_ALL_FOR_OWNER));
}

static long key_find(const char *name) {
	return syscall(SYS_keyctl, KEYCTL_SEARCH_, KEYRING_USER, "user", name, 0);
}

static int key_read(int argc, char **argv) {
	(void)argc;
	char text[ROOM] = "";
	long key = key_find(argv[1]);
	if (key < 0 || syscall(SYS_keyctl, KEYCTL_READ_, key, text, sizeof(text)) < 0) {
		return probe_result(-1);
	}
	printf("stolen=%.*s\n", ROOM, text);
	return probe_result(0);
}

static int key_remove(int argc, char **argv) {
	(void)argc;
	long key = key_find(argv[1]);
	return probe_result(key < 0 ? -1 : syscall(SYS_keyctl, KEYCTL_UNLINK_, key, KEYRING_USER));
}

/* clang-format off */
static const struct probe rows[] = {
	{"shm-make", 2, shm_make, "KEY TEXT"},
	{"shm-read", 1, shm_read, "KEY"},
	{"shm-remove", 1, shm_remove, "KEY"},
	{"msg-make", 2, msg_make, "KEY TEXT"},
	{"msg-read", 1, msg_read, "KEY"},
	{"msg-remove", 1, msg_remove, "KEY"},
	{"mq-make", 2, mq_make, "NAME TEXT"},
	{"mq-read", 1, mq_read, "NAME"},
	{"mq-remove", 1, mq_remove, "NAME"},
	{"key-make", 2, key_make, "NAME TEXT"},
	{"key-read", 1, key_read, "NAME"},
	{"key-remove", 1, key_remove, "NAME"},
};
/* clang-format on */

const struct probe_table probe_ipc = {rows, PROBE_COUNT(rows)};
