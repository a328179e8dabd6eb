/* What every source file includes first: the public header, and how internal functions are declared. */
#ifndef PELLUCID_INTERNAL_H
#define PELLUCID_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pellucid.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "This code is for little-endian machines."
#endif

/* Shared between source files. The single file defines it as static: a program that contains it sees no other names. */
#ifndef INTERNAL
#define INTERNAL
#endif

#endif
