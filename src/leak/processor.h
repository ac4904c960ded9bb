/* SPDX-License-Identifier: Apache-2.0 */
/* The vector instructions of this processor. */
#ifndef CORRAL_LEAK_PROCESSOR_H
#define CORRAL_LEAK_PROCESSOR_H

enum processor_feature {
	PROCESSOR_KNOWN = 1 << 0,  /* always set */
	PROCESSOR_AVX2 = 1 << 1,   /* and BMI, POPCNT */
	PROCESSOR_AVX512 = 1 << 2, /* AVX512BW, VBMI, VBMI2; and all of PROCESSOR_AVX2 */
};

/* A set of features that the processor has and the kernel has enabled. */
unsigned processor_features(void);

#endif
