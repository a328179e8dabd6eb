/* SHA-256 and HMAC: proofs of a token, pins of certificates. */
#ifndef PELLUCID_BASE_SHA256_H
#define PELLUCID_BASE_SHA256_H

#include "internal.h"

enum { HASH_TEXT_BYTES = 65 };

/* The SHA-256 of bytes, in hexadecimal. */
INTERNAL void sha256_hex(const void *content, size_t count, char hex[HASH_TEXT_BYTES]);
/* The HMAC-SHA-256 of a text, in hexadecimal. */
INTERNAL void hmac_sha256_hex(const char *key, const char *text, char hex[HASH_TEXT_BYTES]);

#endif
