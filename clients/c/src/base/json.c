#include "base/json.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *json_skip_space(const char *at) { return at + strspn(at, " \t\r\n"); }

/* The end of a string that begins at `at`; NULL if it does not end. */
static const char *json_text_end(const char *at) {
    for (at++; *at != 0 && *at != '"'; at++)
        if (*at == '\\' && *++at == 0)
            return NULL;
    return *at == '"' ? at + 1 : NULL;
}

const char *json_end(const char *at) {
    int depth = 0;
    do {
        at = json_skip_space(at);
        if (*at == '"') {
            at = json_text_end(at);
            if (at == NULL)
                return NULL;
        } else if (*at == 0) {
            return NULL;
        } else {
            depth += *at == '{' || *at == '[' ? 1 : *at == '}' || *at == ']' ? -1 : 0;
            int is_plain = strchr("{}[],:", *at) == NULL;
            at += is_plain ? strcspn(at, "\"{}[],: \t\r\n") : 1;
        }
    } while (depth > 0);
    return depth == 0 ? at : NULL;
}

const char *json_find(const char *json, const char *key) {
    size_t length = strlen(key);
    const char *at = json == NULL ? NULL : json_skip_space(json);
    if (at == NULL || *at++ != '{')
        return NULL;
    for (;;) {
        at = json_skip_space(at);
        const char *name = at, *behind = *at == '"' ? json_text_end(at) : NULL;
        if (behind == NULL || *(at = json_skip_space(behind)) != ':')
            return NULL;
        at = json_skip_space(at + 1);
        if ((size_t)(behind - name) == length + 2 && strncmp(name + 1, key, length) == 0)
            return at;
        at = json_end(at);
        if (at == NULL || *(at = json_skip_space(at)) != ',')
            return NULL;
        at++;
    }
}

const char *json_first(const char *array) {
    const char *at = array == NULL ? NULL : json_skip_space(array);
    if (at == NULL || *at != '[')
        return NULL;
    at = json_skip_space(at + 1);
    return *at == ']' || *at == 0 ? NULL : at;
}

const char *json_next(const char *element) {
    const char *at = element == NULL ? NULL : json_end(element);
    at = at == NULL ? NULL : json_skip_space(at);
    return at == NULL || *at != ',' ? NULL : json_skip_space(at + 1);
}

const char *json_element(const char *array, size_t index) {
    const char *at = json_first(array);
    while (at != NULL && index-- > 0)
        at = json_next(at);
    return at;
}

size_t json_count(const char *array) {
    size_t count = 0;
    for (const char *at = json_first(array); at != NULL; at = json_next(at))
        count++;
    return count;
}

double json_number(const char *value, double otherwise) {
    char *stop;
    if (value == NULL)
        return otherwise;
    locale_t before = use_c_locale();
    double number = strtod(value, &stop);
    uselocale(before);
    return stop != value ? number : otherwise;
}

int json_numbers(const char *array, double *to, size_t count) {
    const char *at = json_first(array);
    for (size_t i = 0; i < count; i++, at = json_next(at)) {
        if (at == NULL)
            return 0;
        to[i] = json_number(at, 0);
    }
    return 1;
}

int json_is_true(const char *value) { return value != NULL && strncmp(value, "true", 4) == 0; }

/* The four hexadecimal digits after \u; negative if they are invalid. */
static int json_code_unit(const char *at) {
    int unit = 0;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)at[i]))
            return -1;
        unit = 16 * unit + (isdigit((unsigned char)at[i]) ? at[i] - '0' : tolower((unsigned char)at[i]) - 'a' + 10);
    }
    return unit;
}

static char *append_utf8(char *to, unsigned long character) {
    if (character < 0x80) {
        *to++ = (char)character;
        return to;
    }
    int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    static const unsigned first[] = {0, 0xC0, 0xE0, 0xF0};
    *to++ = (char)(first[more] | character >> 6 * more);
    while (more-- > 0)
        *to++ = (char)(0x80 | (character >> 6 * more & 0x3F));
    return to;
}

/* A string without escapes, to be freed; NULL if the value is not a string. It is never longer than its source. */
static char *json_copy(const char *at) {
    const char *behind = at != NULL && *at == '"' ? json_text_end(at) : NULL;
    char *text = behind == NULL ? NULL : malloc((size_t)(behind - at)), *to = text;
    if (text == NULL)
        return NULL;
    for (at++; at < behind - 1; at++) {
        if (*at != '\\') {
            *to++ = *at;
            continue;
        }
        int unit = *++at == 'u' ? json_code_unit(at + 1) : -1;
        if (unit < 0) {
            static const char escapes[] = "nrtbf", values[] = "\n\r\t\b\f";
            const char *found = strchr(escapes, *at);
            *to++ = found != NULL ? values[found - escapes] : *at;
            continue;
        }
        at += 4;
        unsigned long character = (unsigned long)unit;
        int low = unit >= 0xD800 && unit < 0xDC00 && at[1] == '\\' && at[2] == 'u' ? json_code_unit(at + 3) : -1;
        if (low >= 0xDC00 && low < 0xE000) {
            character = 0x10000 + ((character - 0xD800) << 10) + ((unsigned long)low - 0xDC00);
            at += 6;
        }
        to = append_utf8(to, character);
    }
    *to = 0;
    return text;
}

char *json_text(const char *json, const char *key) { return json_copy(json_find(json, key)); }

void json_text_into(const char *json, const char *key, char *to, size_t capacity) {
    char *text = json_text(json, key);
    snprintf(to, capacity, "%s", text != NULL && strlen(text) < capacity ? text : "");
    free(text);
}

void append_json(struct text *text, const char *value) {
    append(text, "\"");
    for (const unsigned char *at = (const unsigned char *)(value != NULL ? value : ""); *at; at++)
        append(text, *at == '"' || *at == '\\' ? "\\%c" : *at < 32 ? "\\u%04x" : "%c", *at);
    append(text, "\"");
}

void append_number(struct text *text, double value) {
    locale_t before = use_c_locale();
    append(text, "%.17g", value);
    uselocale(before);
}

void append_numbers(struct text *text, const double *values, size_t count) {
    append(text, "[");
    for (size_t i = 0; i < count; i++) {
        append(text, i > 0 ? ", " : "");
        append_number(text, values[i]);
    }
    append(text, "]");
}
