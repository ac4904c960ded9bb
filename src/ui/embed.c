/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files as a C table: a program of the build.
 *
 * Should:   give the same text for the same files.
 * Must not: be part of the product.
 * Fails:    with exit status 1, and the build with it. */
#include <stdio.h>
#include <string.h>

static const struct {
	const char *suffix, *type;
} types[] = {
	{".css", "text/css; charset=utf-8"},
	{".js", "text/javascript; charset=utf-8"},
	{".svg", "image/svg+xml"},
};

static const char *type_of(const char *name) {
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot != NULL && i < sizeof types / sizeof types[0]; i++) {
		if (strcmp(dot, types[i].suffix) == 0) {
			return types[i].type;
		}
	}
	return NULL;
}

static int embed(const char *path, int number) {
	FILE *in = fopen(path, "rb");
	int c;

	if (in == NULL) {
		return -1;
	}
	printf("static const char data_%d[] = {", number);
	for (size_t n = 0; (c = getc(in)) != EOF; n++) {
		printf("%s%d,", n % 20 == 0 ? "\n" : "", c < 128 ? c : c - 256);
	}
	puts("\n0};");
	int failed = ferror(in);
	return fclose(in) == 0 && !failed ? 0 : -1;
}

int main(int argc, char **argv) {
	puts("#include \"ui/assets.h\"");
	for (int i = 1; i < argc; i++) {
		if (embed(argv[i], i) != 0 || type_of(argv[i]) == NULL) {
			(void)fprintf(stderr, "cannot embed %s\n", argv[i]);
			return 1;
		}
	}
	puts("const struct asset ui_assets[] = {");
	for (int i = 1; i < argc; i++) {
		const char *slash = strrchr(argv[i], '/');
		printf("{\"%s\", \"%s\", data_%d, sizeof data_%d - 1},\n",
		       slash == NULL ? argv[i] : slash + 1, type_of(argv[i]), i, i);
	}
	printf("};\nconst size_t ui_assets_count = %d;\n", argc - 1);
	return fflush(stdout) == 0 ? 0 : 1;
}
