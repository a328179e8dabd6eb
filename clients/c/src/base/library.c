#include "base/library.h"

#include <dlfcn.h>

void *find_symbol(void *library, const char *name) { return library == NULL ? NULL : dlsym(library, name); }
