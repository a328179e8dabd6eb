/* Text that grows, and numbers in text whatever the language of the program is. */
#ifndef PELLUCID_BASE_TEXT_H
#define PELLUCID_BASE_TEXT_H

#include "internal.h"

#include <locale.h>

struct text { /* grows as needed */
    char *at;
    size_t length, capacity;
    int has_failed;
};

INTERNAL void append(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Append a line "key: value"; line breaks in the value become spaces. */
INTERNAL void append_field(struct text *text, const char *key, const char *value);
INTERNAL void to_hex(const uint8_t *bytes, size_t count, char *text);
/* Parse the text up to `stop` as a non-negative integer; returns 0 if it is not one. */
INTERNAL int parse_number(const char *text, const char *stop, uint64_t *number);
INTERNAL locale_t use_c_locale(void);

#endif
