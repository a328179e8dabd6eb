/* SHA-256 and HMAC: proofs of a token, pins of certificates. */
#ifndef PELLUCID_BASE_SHA256_H
#define PELLUCID_BASE_SHA256_H

#include "internal.h"

enum { HASH_TEXT_BYTES = 65 };

struct sha256 {
    uint32_t state[8];
    uint64_t length;
    uint8_t block[64];
};

INTERNAL void sha256_init(struct sha256 *sha);
INTERNAL void sha256_update(struct sha256 *sha, const void *content, size_t count);
INTERNAL void sha256_final(struct sha256 *sha, uint8_t digest[32]);
/* The keyed hash of a text, as text. */
INTERNAL void hmac_sha256_hex(const char *key, const char *text, char hex[HASH_TEXT_BYTES]);

#endif
