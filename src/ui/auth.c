/* SPDX-License-Identifier: Apache-2.0 */
/* Invitations and cookies.
 *
 * Should:   keep hashes only, and compare them in constant time (U3).
 * Must not: extend the life of an invitation.
 * Fails:    closed. */
#include "ui/auth.h"

#include "base/auto.h"

#include <sodium.h>
#include <string.h>

void auth_invite(struct auth *a, char ret_token[TOKEN_TEXT_LENGTH + 1], int64_t now) {
	size_t place = 0;

	for (size_t i = 1; i < INVITATIONS_MAX; i++) {
		place = a->invitations[i].until < a->invitations[place].until ? i : place;
	}
	token_make(ret_token, &a->invitations[place].hash);
	a->invitations[place].until = now + INVITATION_MS;
}

/* The place of the invitation, or -1. */
static int find_invitation(const struct auth *a, const char *token, int64_t now) {
	struct token_hash hash;
	int found = -1;

	if (token_hash_text(token, &hash) != 0) {
		return -1;
	}
	for (int i = 0; i < INVITATIONS_MAX; i++) {
		bool same = token_hash_equal(&hash, &a->invitations[i].hash);
		found = same && a->invitations[i].until > now ? i : found;
	}
	return found;
}

bool auth_is_invited(const struct auth *a, const char *token, int64_t now) {
	return find_invitation(a, token, now) >= 0;
}

bool auth_enter(struct auth *a, const char *token, char ret_cookie[TOKEN_TEXT_LENGTH + 1],
		int64_t now) {
	unsigned char random[FORM_TOKEN_LENGTH / 2];
	int found = find_invitation(a, token, now);
	struct visit *v = &a->visits[0];

	if (found < 0) {
		return false;
	}
	sodium_memzero(&a->invitations[found], sizeof a->invitations[found]);
	for (size_t i = 1; i < VISITS_MAX; i++) {
		v = a->visits[i].used < v->used ? &a->visits[i] : v;
	}
	token_make(ret_cookie, &v->cookie);
	randombytes_buf(random, sizeof random);
	(void)sodium_bin2hex(v->form, sizeof v->form, random, sizeof random);
	v->used = now;
	return true;
}

static bool is_visit(const struct visit *v, const struct token_hash *cookie, int64_t now) {
	bool same = token_hash_equal(cookie, &v->cookie);
	return same && v->used != 0 && now - v->used < VISIT_MS;
}

bool auth_knows(const struct auth *a, const struct token_hash *cookie, int64_t now) {
	bool found = false;

	for (size_t i = 0; i < VISITS_MAX; i++) {
		found = is_visit(&a->visits[i], cookie, now) || found;
	}
	return found;
}

struct visit *auth_visit(struct auth *a, const struct http_request *r, int64_t now) {
	char text[TOKEN_TEXT_LENGTH + 1] = "";
	struct token_hash hash;
	struct http_span given;
	struct visit *found = NULL;

	if (!http_request_cookie(r, UI_COOKIE, &given) || given.len != TOKEN_TEXT_LENGTH) {
		return NULL;
	}
	memcpy(text, given.at, TOKEN_TEXT_LENGTH);
	if (token_hash_text(text, &hash) != 0) {
		return NULL;
	}
	for (size_t i = 0; i < VISITS_MAX; i++) {
		struct visit *v = &a->visits[i];
		found = is_visit(v, &hash, now) ? v : found;
	}
	if (found != NULL) {
		found->used = now;
	}
	return found;
}

bool auth_form_is(const struct visit *v, const char *form_token) {
	return strlen(form_token) == FORM_TOKEN_LENGTH &&
	       sodium_memcmp(form_token, v->form, FORM_TOKEN_LENGTH) == 0;
}

void auth_leave(struct visit *v) {
	sodium_memzero(v, sizeof *v);
}
