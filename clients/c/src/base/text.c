#include "base/text.h"

#include <ctype.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void append(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        text->has_failed = 1;
        return;
    }
    if (text->length + (size_t)length + 1 > text->capacity) {
        size_t capacity = 2 * text->capacity + (size_t)length + 256;
        char *larger = text->has_failed ? NULL : realloc(text->at, capacity);
        if (larger == NULL) {
            text->has_failed = 1;
            return;
        }
        text->at = larger;
        text->capacity = capacity;
    }
    va_start(arguments, format);
    vsnprintf(text->at + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

void append_field(struct text *text, const char *key, const char *value) {
    size_t start = text->length;
    append(text, "\n%s: %s", key, value);
    for (size_t i = start + 1; !text->has_failed && i < text->length; i++)
        if (text->at[i] == '\n' || text->at[i] == '\r')
            text->at[i] = ' ';
}

void to_hex(const uint8_t *bytes, size_t count, char *text) {
    for (size_t i = 0; i < count; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

int parse_number(const char *text, const char *stop, uint64_t *number) {
    if (text == stop || stop - text > 19)
        return 0;
    *number = 0;
    for (; text < stop; text++) {
        if (!isdigit((unsigned char)*text))
            return 0;
        *number = *number * 10 + (uint64_t)(*text - '0');
    }
    return 1;
}

/* Numbers are written with a decimal point, whatever the locale of the program is. */
static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void create_c_locale(void) { c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); }

locale_t use_c_locale(void) {
    pthread_once(&c_locale_once, create_c_locale);
    return uselocale(c_locale);
}
