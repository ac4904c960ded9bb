/* SPDX-License-Identifier: Apache-2.0 */
/* Names the layers of this backend for the time stamps of a run.
 *
 * Should:   use the order of layers.c.
 * Must not: be called in the child.
 * Fails:    with "" for an index that no layer has. */
#include "backend/timings.h"

#include "linux/layer.h"

const char *timings_layer(size_t index) {
	for (size_t i = 0; layers[i] != NULL; i++) {
		if (i == index) {
			return layers[i]->name;
		}
	}
	return "";
}
