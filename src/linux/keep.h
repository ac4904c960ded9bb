/* What a process that is a copy of another keeps of its descriptors. */
#ifndef CORRAL_LINUX_KEEP_H
#define CORRAL_LINUX_KEEP_H

#include <stddef.h>

/* Closes every descriptor but these; a negative one is none.  System calls only. */
void keep_only(const int *kept, size_t n);

#endif
