/* JSON: enough to read responses and to write requests. */
#ifndef PELLUCID_BASE_JSON_H
#define PELLUCID_BASE_JSON_H

#include "base/text.h"
#include "internal.h"

INTERNAL const char *json_skip_space(const char *at);
/* Behind any value; NULL where it has no end. */
INTERNAL const char *json_end(const char *at);
/* The value behind a key of an object, not of those inside it; NULL where there is none. */
INTERNAL const char *json_find(const char *json, const char *key);
INTERNAL char *json_text(const char *json, const char *key);
/* Copy a text into room bytes; an empty one where there is none, or it is too long. */
INTERNAL void json_text_into(const char *json, const char *key, char *to, size_t capacity);
/* A text as JSON, between quotation marks. */
INTERNAL void append_json(struct text *text, const char *value);

#endif
