/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of the texts that calls return. */
#ifndef CORRAL_FORMAT_H
#define CORRAL_FORMAT_H

/* Text for people; one JSON object for programs; one paragraph for a language model, of
 * corral_explain(), corral_explain_host() and corral_why(): elsewhere it is CORRAL_TEXT. */
enum corral_format { CORRAL_TEXT, CORRAL_JSON, CORRAL_PROMPT, CORRAL_SEATBELT };

#endif
