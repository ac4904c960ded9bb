/* SPDX-License-Identifier: Apache-2.0 */
/* ioctl(2) requests that change something through a descriptor for reading, or reach
 * others: by number alone, on a file, and for encrypted directories in earnest. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fscrypt.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIGH_BITS 0x12300000000L

/* Numbers, not names: the build machine's headers may lack a file system's. */
static const struct {
	const char *name;
	long number;
} requests[] = {
	{"BCACHEFS_IOC_SUBVOLUME_CREATE", 0x4020bc10},
	{"BTRFS_IOC_DEFRAG", 0x50009402},
	{"BTRFS_IOC_SET_RECEIVED_SUBVOL", 0xc0c89425},
	{"BTRFS_IOC_SNAP_CREATE", 0x50009401},
	{"BTRFS_IOC_SUBVOL_CREATE", 0x5000940e},
	{"BTRFS_IOC_SUBVOL_SETFLAGS", 0x4008941a},
	{"EPIOCSPARAMS", 0x40088a01},
	{"EXT4_IOC_MIGRATE", 0x6609},
	{"EXT4_IOC_MOVE_EXT", 0xc028660f},
	{"EXT4_IOC_SETVERSION", 0x40086604},
	{"EXT4_IOC_SWAP_BOOT", 0x6611},
	{"F2FS_IOC_SET_PIN_FILE", 0x4004f50d},
	{"FAT_IOCTL_SET_ATTRIBUTES", 0x40047211},
	{"FIBMAP", 1},
	{"FIDEDUPERANGE", 0xc0189436},
	{"FIFREEZE", 0xc0045877},
	{"FIOSETOWN", 0x8901},
	{"FITRIM", 0xc0185879},
	{"FS_IOC_ADD_ENCRYPTION_KEY", 0xc0506617},
	{"FS_IOC_ADD_ENCRYPTION_KEY-high", HIGH_BITS | 0xc0506617},
	{"FS_IOC_ENABLE_VERITY", 0x40806685},
	{"FS_IOC_FIEMAP", 0xc020660b},
	{"FS_IOC_FSSETXATTR", 0x401c5820},
	{"FS_IOC_REMOVE_ENCRYPTION_KEY", 0xc0406618},
	{"FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS", 0xc0406619},
	{"FS_IOC_SETFLAGS", 0x40086602},
	{"FS_IOC_SETFSLABEL", 0x41009432},
	{"FS_IOC_SETVERSION", 0x40087602},
	{"FS_IOC_SET_ENCRYPTION_POLICY", 0x800c6613},
	{"IOC_WATCH_QUEUE_SET_SIZE", 0x5760},
	{"NS_GET_PARENT", 0xb702},
	{"PIDFD_GET_USER_NAMESPACE", 0xff09},
	{"SIOCADDRT", 0x890b},
	{"SIOCSPGRP", 0x8902},
	{"TIOCVHANGUP", 0x5437},
	{"XFS_IOC_SWAPEXT", 0xc0c0586d},
};

static long request_number(const char *name) {
	for (size_t i = 0; i < PROBE_COUNT(requests); i++) {
		if (strcmp(requests[i].name, name) == 0) {
			return requests[i].number;
		}
	}
	fprintf(stderr, "probe: no request is named %s\n", name);
	_exit(2);
}

/* On no descriptor: the kernel's own answer is EBADF. */
static int request_bad(int argc, char **argv) {
	(void)argc;
	return probe_result(syscall(SYS_ioctl, -1, request_number(argv[1]), 0L));
}

/* A key of the test's own; who has its identifier can lock what it opens. */
static const unsigned char key[FSCRYPT_MAX_KEY_SIZE] =
	"a key for an escape row and nothing else, 64 by";

static int add_key(int fd, unsigned char *identifier) {
	union {
		struct fscrypt_add_key_arg arg;
		char room[sizeof(struct fscrypt_add_key_arg) + sizeof key];
	} add;
	memset(&add, 0, sizeof add);
	add.arg.key_spec.type = FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER;
	add.arg.raw_size = sizeof key;
	memcpy(add.arg.raw, key, sizeof key);
	if (ioctl(fd, FS_IOC_ADD_ENCRYPTION_KEY, &add) != 0) {
		return -1;
	}
	memcpy(identifier, add.arg.key_spec.u.identifier, FSCRYPT_KEY_IDENTIFIER_SIZE);
	return 0;
}

/* Encrypts an empty directory of the caller's and writes the key's identifier to a file. */
static int encrypt(int argc, char **argv) {
	(void)argc;
	struct fscrypt_policy_v2 policy = {
		.version = FSCRYPT_POLICY_V2,
		.contents_encryption_mode = FSCRYPT_MODE_AES_256_XTS,
		.filenames_encryption_mode = FSCRYPT_MODE_AES_256_CTS,
		.flags = FSCRYPT_POLICY_FLAGS_PAD_32,
	};
	int fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || out < 0 || add_key(fd, policy.master_key_identifier) != 0 ||
	    ioctl(fd, FS_IOC_SET_ENCRYPTION_POLICY, &policy) != 0) {
		return probe_result(-1);
	}
	return probe_result(write(out, policy.master_key_identifier, FSCRYPT_KEY_IDENTIFIER_SIZE));
}

/* Takes that key away, by the descriptor of the file that holds its identifier. */
static int encrypt_lock(int argc, char **argv) {
	(void)argc;
	struct fscrypt_remove_key_arg arg;
	memset(&arg, 0, sizeof arg);
	arg.key_spec.type = FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER;
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, arg.key_spec.u.identifier, FSCRYPT_KEY_IDENTIFIER_SIZE) < 0) {
		return probe_result(-1);
	}
	return probe_result(ioctl(fd, FS_IOC_REMOVE_ENCRYPTION_KEY, &arg));
}

/* clang-format off */
static const struct probe rows[] = {
	{"request-bad", 1, request_bad, "NAME"},
	{"encrypt", 2, encrypt, "DIR FILE"},
	{"encrypt-lock", 1, encrypt_lock, "FILE"},
};
/* clang-format on */

const struct probe_table probe_requests = {rows, PROBE_COUNT(rows)};
