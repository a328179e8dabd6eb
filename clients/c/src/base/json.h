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
INTERNAL char *json_text(const char *json, const char *key);
/* Copy a string into `capacity` bytes; an empty string if it is missing or too long. */
INTERNAL void json_text_into(const char *json, const char *key, char *to, size_t capacity);
/* Append a string as JSON, with quotation marks. */
INTERNAL void append_json(struct text *text, const char *value);

#endif
