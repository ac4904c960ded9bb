/* SPDX-License-Identifier: Apache-2.0 */
/* The words as libFuzzer's -dict reads them. */
#include "words.h"

#include <stdio.h>

int main(void) {
	for (size_t i = 0; i < words_count(); i++) {
		(void)putchar('"');
		for (const char *p = word_at(i); *p != '\0'; p++) {
			(void)printf("\\x%02X", (unsigned char)*p);
		}
		(void)puts("\"");
	}
	return 0;
}
