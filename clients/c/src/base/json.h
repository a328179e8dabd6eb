/* JSON: enough to read responses and to write requests. */
#ifndef PELLUCID_BASE_JSON_H
#define PELLUCID_BASE_JSON_H

#include "base/text.h"
#include "internal.h"

INTERNAL const char *json_skip_space(const char *at);
/* The end of a value of any type; NULL if it does not end. */
INTERNAL const char *json_end(const char *at);
/* The value of a key of an object, without looking into nested objects; NULL if there is none. */
INTERNAL const char *json_find(const char *json, const char *key);
/* The elements of an array, one after the other: NULL if there is none, or no further one. */
INTERNAL const char *json_first(const char *array);
INTERNAL const char *json_next(const char *element);
INTERNAL const char *json_element(const char *array, size_t index);
INTERNAL size_t json_count(const char *array);
/* Numbers, read whatever the locale of the program is. json_numbers returns 0 if the array has fewer. */
INTERNAL double json_number(const char *value, double otherwise);
INTERNAL int json_numbers(const char *array, double *to, size_t count);
INTERNAL int json_is_true(const char *value);
INTERNAL char *json_text(const char *json, const char *key);
/* Copy a string into `capacity` bytes; an empty string if it is missing or too long. */
INTERNAL void json_text_into(const char *json, const char *key, char *to, size_t capacity);
/* Append a string as JSON, with quotation marks. */
INTERNAL void append_json(struct text *text, const char *value);
/* Append a number exactly; several as an array. */
INTERNAL void append_number(struct text *text, double value);
INTERNAL void append_numbers(struct text *text, const double *values, size_t count);

#endif
