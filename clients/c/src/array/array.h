/* Arrays: their types, size, memory and texts. */
#ifndef PELLUCID_ARRAY_ARRAY_H
#define PELLUCID_ARRAY_ARRAY_H

#include "internal.h"

/* The memory and texts of a received array. */
struct owned {
    size_t mapped;
    char *unit, *name, *metadata;
};

/* The type string of NumPy, for example "<u2". */
INTERNAL const char *type_code(pellucid_type type);
INTERNAL unsigned type_bytes(pellucid_type type);
/* The type with this code; negative if it is unknown. */
INTERNAL int type_from_code(const char *code, size_t length);
/* Copy the texts of an array, for a transfer that outlives the call, and set data to NULL. */
INTERNAL int copy_texts(pellucid_array *array, pellucid_error *error);
INTERNAL int check_array(const pellucid_array *array, int needs_data, pellucid_error *error);

#endif
