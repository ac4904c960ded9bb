/* SPDX-License-Identifier: Apache-2.0 */
/* Access to the page: invitations, visits (cookies) and the tokens of forms (U2, U3). */
#ifndef CORRAL_UI_AUTH_H
#define CORRAL_UI_AUTH_H

#include "http/request.h"
#include "rpc/token.h"

#include <stdint.h>

#define UI_COOKIE "corral"
#define INVITATIONS_MAX 8
#define INVITATION_MS 300000
#define VISITS_MAX 16
#define VISIT_MS ((int64_t)12 * 3600 * 1000) /* since the last request */
#define FORM_TOKEN_LENGTH 32

/* A browser that has exchanged its invitation. */
struct visit {
	struct token_hash cookie;
	char form[FORM_TOKEN_LENGTH + 1]; /* the token of its forms */
	int64_t used;                     /* 0: a free place */
};

struct auth {
	struct {
		struct token_hash hash;
		int64_t until; /* 0: a free place */
	} invitations[INVITATIONS_MAX];
	struct visit visits[VISITS_MAX];
};

/* A new invitation; the oldest one goes if there are too many. */
void auth_invite(struct auth *a, char ret_token[TOKEN_TEXT_LENGTH + 1], int64_t now);

/* Whether the invitation is valid, without using it. */
bool auth_is_invited(const struct auth *a, const char *token, int64_t now);

/* Uses the invitation: the text of a new cookie.  False: it is not valid, or not any more. */
bool auth_enter(struct auth *a, const char *token, char ret_cookie[TOKEN_TEXT_LENGTH + 1],
		int64_t now);

/* The visit of a request; NULL: it has none. */
struct visit *auth_visit(struct auth *a, const struct http_request *r, int64_t now);

/* Whether a visit with this cookie is valid; its time is not extended. */
bool auth_knows(const struct auth *a, const struct token_hash *cookie, int64_t now);

/* Whether a form was made for this visit. */
bool auth_form_is(const struct visit *v, const char *form_token);

void auth_leave(struct visit *v);

#endif
