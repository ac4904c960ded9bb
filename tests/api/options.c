/* SPDX-License-Identifier: Apache-2.0 */
/* The option table: every row can be reached, parsed and shown. */
#include "data/options.h"

#include "test.h"

TEST(names_and_letters_are_unique_for_a_verb) {
	for (size_t i = 0; i < options_count; i++) {
		for (size_t k = 0; k < i; k++) {
			const struct option_row *a = &options[i], *b = &options[k];
			if ((a->verbs & b->verbs) == 0) {
				continue;
			}
			CHECK(a->name == NULL || b->name == NULL || strcmp(a->name, b->name) != 0);
			CHECK(a->letter == 0 || a->letter != b->letter);
		}
	}
}

TEST(every_row_has_a_name_a_verb_and_a_help) {
	for (size_t i = 0; i < options_count; i++) {
		const struct option_row *row = &options[i];
		CHECK(row->name != NULL || row->letter != 0);
		CHECK(row->verbs != 0);
		CHECK(row->help != NULL && row->help[0] != '\0');
		CHECK(row->group < GROUP_COUNT && option_groups[row->group] != NULL);
	}
}

TEST(a_key_gets_an_argument_or_a_fixed_value_and_never_both) {
	for (size_t i = 0; i < options_count; i++) {
		const struct option_row *row = &options[i];
		if (row->id == OPTION_SETS_KEY) {
			CHECK((row->argument == NULL) != (row->fixed == NULL));
			/* A verb that runs nothing of the caller's gives no secret to anything. */
			bool secret = row->key == KEY_ENV_SECRETS;
			/* A run would ignore a limit of sessions, so it refuses the option. */
			bool session = strncmp(keys[row->key].name, "session.", 8) == 0;
			CHECK((row->verbs & FOR_ALL) == (secret    ? FOR_ALL & ~FOR_TEST
							 : session ? FOR_SESSION_CREATE
								   : FOR_ALL));
		} else {
			CHECK(row->fixed == NULL);
		}
	}
}

TEST(lists_with_commas_belong_to_closed_names) {
	for (size_t i = 0; i < options_count; i++) {
		if (options[i].commas) {
			CHECK(options[i].id == OPTION_SETS_KEY &&
			      keys[options[i].key].type == TYPE_NAMES);
			CHECK(option_choices(&options[i]) != NULL);
		}
	}
}

TEST(two_options_never_set_the_same_key) {
	bool seen[KEY_COUNT] = {false};
	for (size_t i = 0; i < options_count; i++) {
		if (options[i].id == OPTION_SETS_KEY) {
			CHECK(!seen[options[i].key]);
			seen[options[i].key] = true;
		}
	}
}

TESTS_MAIN
