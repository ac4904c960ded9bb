/* SPDX-License-Identifier: Apache-2.0 */
/* Sets every signal of this process to SIG_DFL.  System calls only. */
#ifndef CORRAL_LINUX_SIGNALS_RESET_H
#define CORRAL_LINUX_SIGNALS_RESET_H

void signals_reset(void);

#endif
