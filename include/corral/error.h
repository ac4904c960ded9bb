/* SPDX-License-Identifier: Apache-2.0 */
/* Why a call failed: the kind of error, the layer, a sentence and the remedy. */
#ifndef CORRAL_ERROR_H
#define CORRAL_ERROR_H

enum corral_error_kind {
	CORRAL_E_NONE = 0,
	CORRAL_E_USAGE,     /* wrong option, key, value or file */
	CORRAL_E_REFUSED,   /* refused by policy */
	CORRAL_E_SETUP,     /* no sandbox, or a required guarantee is not available; nothing ran */
	CORRAL_E_NOT_FOUND, /* the command or the file does not exist in the sandbox */
	CORRAL_E_NOT_EXECUTABLE, /* the command exists and cannot be executed */
	CORRAL_E_MEMORY,
	/* Of the file tools: */
	CORRAL_E_OUTSIDE,   /* the sandbox does not show the path */
	CORRAL_E_SENSITIVE, /* a rule hides the file */
	CORRAL_E_PROTECTED, /* a protected name: readable, but not writable */
	CORRAL_E_FILE_KIND, /* a directory, FIFO, socket or device instead of a file, … */
	CORRAL_E_TOO_LARGE, /* larger than the tool's limit, or than limits.file_size */
	CORRAL_E_NO_MATCH,  /* edit: the text is not in the file */
	CORRAL_E_SEVERAL,   /* edit: the text occurs more than once */
	CORRAL_E_LEAK,      /* the scanner found a secret in the arguments, or in a file to send */
	CORRAL_E_FILE,      /* a system call failed: see sys_errno */
};

struct corral_error {
	enum corral_error_kind kind;
	int sys_errno;     /* 0 when no system call failed */
	char layer[24];    /* "policy", "mounts", "landlock", … */
	char message[360]; /* one sentence */
	char remedy[240];  /* how to fix it, or "" */
};

#endif
