/* Functions of a library that is loaded when the program runs. */
#ifndef PELLUCID_BASE_LIBRARY_H
#define PELLUCID_BASE_LIBRARY_H

#include "internal.h"

#include <string.h>

/* dlsym returns an object pointer, which ISO C cannot cast to a function pointer. */
#define LOAD_FUNCTION(target, library, name)        \
    do {                                            \
        void *found_ = find_symbol(library, name);  \
        memcpy(&(target), &found_, sizeof(target)); \
        has_all = has_all && found_ != NULL;        \
    } while (0)

INTERNAL void *find_symbol(void *library, const char *name);

#endif
