/* Random numbers, and the comparison of secrets. */
#ifndef PELLUCID_BASE_SECRETS_H
#define PELLUCID_BASE_SECRETS_H

#include "internal.h"

/* `count` random bytes (at most 32), in hexadecimal. */
INTERNAL int random_hex(size_t count, char *text, pellucid_error *error);
/* Whether two texts are equal, compared in constant time. */
INTERNAL int secrets_equal(const char *a, const char *b);

#endif
