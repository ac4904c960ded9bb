#include "base/str.h"

bool path_within(const char *path, const char *dir) {
	size_t n = strlen(dir);
	if (n == 1 && dir[0] == '/') {
		return true;
	}
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

char *path_normal(struct arena *a, const char *path) {
	if (path[0] != '/') {
		return NULL;
	}
	char *out = arena_alloc(a, strlen(path) + 2);
	if (out == NULL) {
		return NULL;
	}
	size_t len = 0;
	for (const char *p = path; *p != '\0';) {
		while (*p == '/') {
			p++;
		}
		size_t n = strcspn(p, "/");
		if (n == 2 && p[0] == '.' && p[1] == '.') {
			while (len > 0 && out[--len] != '/') {
			}
		} else if (n > 0 && !(n == 1 && p[0] == '.')) {
			out[len++] = '/';
			memcpy(out + len, p, n);
			len += n;
		}
		p += n;
	}
	if (len == 0) {
		out[len++] = '/';
	}
	out[len] = '\0';
	return out;
}

char *path_join(struct arena *a, const char *dir, const char *rest) {
	if (rest[0] == '/') {
		return path_normal(a, rest);
	}
	size_t head = strlen(dir), tail = strlen(rest);
	char *both = arena_alloc(a, head + tail + 2);
	if (both == NULL) {
		return NULL;
	}
	char *end = mempcpy(both, dir, head);
	*end = '/';
	memcpy(end + 1, rest, tail + 1);
	return path_normal(a, both);
}

size_t path_depth(const char *path) {
	size_t depth = 0;
	for (const char *p = path; *p != '\0'; p++) {
		if (*p == '/' && p[1] != '\0') {
			depth++;
		}
	}
	return depth;
}

int path_order(const char *a, const char *b) {
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	int left = *a == '/' ? 1 : (unsigned char)*a + (*a != '\0');
	int right = *b == '/' ? 1 : (unsigned char)*b + (*b != '\0');
	return left - right;
}

bool path_parent(const char *path, char out[PATH_MAX]) {
	const char *slash = strrchr(path, '/');
	size_t len = slash == NULL ? 0 : (size_t)(slash - path);
	if (len == 0 || len >= PATH_MAX) {
		return false;
	}
	memcpy(out, path, len);
	out[len] = '\0';
	return true;
}

size_t utf8_length(const unsigned char *p, size_t left) {
	static const unsigned long smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xC0 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;

	if (len < 2) {
		return len;
	}
	if (len > left || p[0] > 0xF4) {
		return 0;
	}
	unsigned long code = p[0] & (0x7FU >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xC0) != 0x80) {
			return 0;
		}
		code = code << 6 | (p[i] & 0x3F);
	}
	bool surrogate = code >= 0xD800 && code <= 0xDFFF;
	return code < smallest[len] || code > 0x10FFFF || surrogate ? 0 : len;
}

/* What a terminal obeys, or what makes a line read otherwise than its bytes stand: C0, DEL,
 * C1, the bidirectional marks, embeddings, overrides and isolates, the separators of lines
 * and paragraphs, and the tags, which nobody sees. */
static bool is_control(unsigned long code) {
	static const struct {
		unsigned long first, last;
	} ranges[] = {
		{0x01, 0x1F},     {0x7F, 0x9F},     {0x61C, 0x61C},     {0x200E, 0x200F},
		{0x2028, 0x202E}, {0x2066, 0x2069}, {0xE0000, 0xE007F},
	};
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
		if (code >= ranges[i].first && code <= ranges[i].last) {
			return true;
		}
	}
	return false;
}

static unsigned long utf8_code(const unsigned char *p, size_t len) {
	unsigned long code = len < 2 ? p[0] : p[0] & (0x7FU >> len);
	for (size_t i = 1; i < len; i++) {
		code = code << 6 | (p[i] & 0x3F);
	}
	return code;
}

size_t control_at(const unsigned char *p, size_t left, unsigned long *ret_code) {
	size_t len = left == 0 ? 0 : utf8_length(p, left);
	if (left == 0 || (len == 1 && p[0] >= 0x20 && p[0] != 0x7F)) {
		return 0;
	}
	/* A byte that begins no character: a terminal of 8 bits takes it for C1. */
	unsigned long code = utf8_code(p, len);
	if (!is_control(code)) {
		return 0;
	}
	*ret_code = code;
	return len == 0 ? 1 : len;
}

size_t control_length(const char *s) {
	unsigned long code;
	return control_at((const unsigned char *)s, strnlen(s, 4), &code);
}

size_t char_length(const char *s) {
	size_t len = utf8_length((const unsigned char *)s, strnlen(s, 4));
	return len == 0 ? *s != '\0' : len;
}

void hide_controls(char *text, bool keep_newlines) {
	for (char *p = text; *p != '\0';) {
		size_t n = keep_newlines && *p == '\n' ? 0 : control_length(p);
		memset(p, '?', n);
		p += n > 0 ? n : char_length(p);
	}
}
