/* SPDX-License-Identifier: Apache-2.0 */
/* A target without libFuzzer: the kept inputs, then mutations of them.
 *
 * Should:   run the same inputs in the same order on every machine; name the
 *           input that broke something, and print it.
 * Must not: end with the first finding of the corpus: the rest is told as well.
 * Fails:    as a TAP line.
 *
 * Inputs run in a child, because a broken property ends its process; the number
 * of the present input lies in memory that both share. */
#include "fuzz.h"
#include "words.h"

#include "base/auto.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* More than this in a file is not a kept input. */
#define INPUT_MAX ((size_t)64 * 1024)

/* Long enough for tens of thousands of inputs, short enough for every check. */
#define MUTATION_MS 700

/* An input that takes longer than all of them should hangs. */
#define HANG_SECONDS 60

struct kept {
	char *name;
	uint8_t *data;
	size_t len;
};

static struct kept *corpus;
static size_t ncorpus;

/* What the child is at: an index of the corpus, or the bytes of a mutation. */
static struct {
	size_t index, runs, len;
	uint8_t data[2 * INPUT_MAX];
} * present;

/* A finding of the undefined-behaviour sanitizer is a finding. */
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) {
	return "halt_on_error=1:print_stacktrace=1";
}

static _Noreturn void give_up(const char *what) {
	perror(what);
	exit(1);
}

/* ---- the corpus ---- */

static void keep(const char *dir, const char *name) {
	char path[4096];
	struct kept *k = &corpus[ncorpus];
	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	k->name = strdup(name);
	k->data = malloc(INPUT_MAX);
	if (fd < 0 || k->name == NULL || k->data == NULL) {
		give_up(path);
	}
	ssize_t n = read(fd, k->data, INPUT_MAX);
	if (n < 0) {
		give_up(path);
	}
	/* To its length, so that a read behind the end is seen. */
	k->len = (size_t)n;
	k->data = realloc(k->data, k->len + (n == 0));
	ncorpus++;
}

static int visible(const struct dirent *entry) {
	return entry->d_name[0] != '.';
}

static void load(const char *dir) {
	struct dirent **names;
	int n = scandir(dir, &names, visible, alphasort);
	if (n <= 0) {
		give_up(dir); /* an empty corpus would pass whatever the product does */
	}
	corpus = calloc((size_t)n, sizeof *corpus);
	if (corpus == NULL) {
		give_up("memory");
	}
	for (int i = 0; i < n; i++) {
		keep(dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

/* ---- mutations ---- */

/* xorshift64*: the same everywhere, from a fixed seed. */
static uint64_t state = 0x9E3779B97F4A7C15u;

static size_t below(size_t n) {
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return n == 0 ? 0 : (size_t)((state * 0x2545F4914F6CDD1Du) >> 33) % n;
}

static void put(size_t at, const void *bytes, size_t len) {
	if (present->len + len > INPUT_MAX) {
		return;
	}
	memmove(present->data + at + len, present->data + at, present->len - at);
	memcpy(present->data + at, bytes, len);
	present->len += len;
}

static void change_byte(void) {
	if (present->len > 0) {
		present->data[below(present->len)] = (uint8_t)below(256);
	}
}

static void flip_bit(void) {
	if (present->len > 0) {
		present->data[below(present->len)] ^= (uint8_t)(1u << below(8));
	}
}

static void cut(void) {
	size_t at = below(present->len), len = below(present->len - at + 1);
	memmove(present->data + at, present->data + at + len, present->len - at - len);
	present->len -= len;
}

static void repeat(void) {
	uint8_t copy[256];
	size_t at = below(present->len), len = below(present->len - at + 1);
	len = len < sizeof copy ? len : sizeof copy;
	memcpy(copy, present->data + at, len);
	put(below(present->len + 1), copy, len);
}

static void put_word(void) {
	const char *word = word_at(below(words_count()));
	put(below(present->len + 1), word, strlen(word));
}

static void put_part(void) {
	const struct kept *other = &corpus[below(ncorpus)];
	size_t at = below(other->len), len = below(other->len - at + 1);
	put(below(present->len + 1), other->data + at, len);
}

static void mutate(void) {
	static void (*const ways[])(void) = {change_byte, flip_bit, cut,
					     repeat,      put_word, put_part};
	const struct kept *from = &corpus[below(ncorpus)];
	memcpy(present->data, from->data, from->len);
	present->len = from->len;
	for (size_t n = 1 + below(4); n > 0; n--) {
		ways[below(ARRAY_LEN(ways))]();
	}
}

static int64_t now_ms(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- the two runs, each in a child ---- */

static void run_corpus(void) {
	for (; present->index < ncorpus; present->index++) {
		const struct kept *k = &corpus[present->index];
		(void)alarm(HANG_SECONDS);
		(void)LLVMFuzzerTestOneInput(k->data, k->len);
	}
}

static void run_mutations(void) {
	for (int64_t until = now_ms() + MUTATION_MS; now_ms() < until; present->runs++) {
		mutate();
		(void)alarm(HANG_SECONDS);
		/* In memory of its own size, so that a read behind the end is seen. */
		uint8_t *exact = malloc(present->len + 1);
		if (exact == NULL) {
			give_up("memory");
		}
		memcpy(exact, present->data, present->len);
		(void)LLVMFuzzerTestOneInput(exact, present->len);
		free(exact);
	}
}

/* True when the child came to its end. */
static bool in_child(void (*run)(void)) {
	int status;
	pid_t child = fork();
	if (child < 0) {
		give_up("fork");
	}
	if (child == 0) {
		run();
		exit(0);
	}
	if (waitpid(child, &status, 0) != child) {
		give_up("waitpid");
	}
	return status == 0;
}

static void print_input(const uint8_t *data, size_t len) {
	(void)printf("# %zu bytes:", len);
	for (size_t i = 0; i < len && i < 2048; i++) {
		(void)printf(" %02x", data[i]);
	}
	(void)printf("\n");
}

/* The child goes on behind an input that broke it. */
static size_t replay(void) {
	size_t broken = 0;
	while (present->index < ncorpus && !in_child(run_corpus)) {
		const struct kept *k = &corpus[present->index++];
		(void)printf("# broken by %s\n", k->name);
		print_input(k->data, k->len);
		broken++;
	}
	return broken;
}

int main(int argc, char **argv) {
	load(argc > 1 ? argv[1] : CORPUS);
	present = mmap(NULL, sizeof *present, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (present == MAP_FAILED) {
		give_up("mmap");
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	size_t broken = replay();
	(void)printf("%s 1 - what was kept: %zu inputs\n", broken == 0 ? "ok" : "not ok", ncorpus);
	bool held = in_child(run_mutations);
	if (!held) {
		print_input(present->data, present->len);
	}
	(void)printf("%s 2 - mutations of it\n# %zu of them\n1..2\n", held ? "ok" : "not ok",
		     present->runs);
	return broken == 0 && held ? 0 : 1;
}
