/* SPDX-License-Identifier: Apache-2.0 */
/* The mapping that holds the values of secrets between the vault and execve(2); secrets.h has the
 * theory.
 *
 * Should:   exist only in a run that has secrets.
 * Must not: leave a value in the mapping after the command was executed.
 * Fails:    closed. */
#include "backend/secrets.h"

#include "base/str.h"

#include <sys/mman.h>

int secrets_new(size_t size, struct secrets *ret, struct err *e) {
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		return err_sys(e, "secrets", "cannot map memory for the secrets");
	}
	(void)mlock(memory, size); /* beyond RLIMIT_MEMLOCK it may be swapped */
	*ret = (struct secrets){.memory = memory, .size = size};
	if (madvise(memory, size, MADV_DONTDUMP) != 0 ||
	    madvise(memory, size, MADV_DONTFORK) != 0) {
		(void)err_sys(e, "secrets", "cannot keep the secrets out of core dumps");
		secrets_free(ret);
		return -1;
	}
	return 0;
}

char *secrets_take(struct secrets *s, size_t len) {
	char *bytes = s->memory + s->used;
	if (len > s->size - s->used) {
		return NULL;
	}
	s->used += len;
	return bytes;
}

void secrets_wipe(const struct secrets *s) {
	volatile char *bytes = s->memory;
	for (size_t i = 0; i < s->used; i++) {
		bytes[i] = 0;
	}
}

void secrets_free(struct secrets *s) {
	if (s->memory != NULL) {
		secrets_wipe(s);
		(void)munmap(s->memory, s->size); /* fails only for arguments that are not ours */
	}
	*s = (struct secrets){0};
}

void secrets_inherit(const struct secrets *s, bool inherit) {
	if (s != NULL) {
		/* Fails only for a range that is not mapped. */
		(void)madvise(s->memory, s->size, inherit ? MADV_DOFORK : MADV_DONTFORK);
	}
}

const struct secret_bytes *secrets_find(const struct secrets *s, const char *name) {
	for (size_t i = 0; s != NULL && i < s->n; i++) {
		if (strcmp(s->list[i].name, name) == 0) {
			return &s->list[i];
		}
	}
	return NULL;
}

/* The entry of the plan that this one replaces; n + 1 bytes are its name and the "=". */
static char **entry_of(char **env, const char *entry, size_t n) {
	while (*env != NULL && strncmp(*env, entry, n) != 0) {
		env++;
	}
	return env;
}

char *const *secrets_environment(struct arena *a, const struct plan *plan,
				 const struct secrets *s) {
	char **env = arena_array(a, plan->nenv + 1, sizeof *env);
	if (env == NULL) {
		return NULL;
	}
	memcpy(env, plan->env, plan->nenv * sizeof *env);
	for (size_t i = 0; i < s->n; i++) {
		char *entry = s->list[i].bytes;
		if (plan->secrets[i].file) {
			continue;
		}
		char **place = entry_of(env, entry, strcspn(entry, "=") + 1);
		if (*place != NULL) { /* the plan has an entry for each */
			*place = entry;
		}
	}
	return env;
}
