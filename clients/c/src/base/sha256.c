#include "base/sha256.h"
#include "base/text.h"

#include <string.h>

struct sha256 {
    uint32_t state[8];
    uint64_t length;
    uint8_t block[64];
};

static const uint32_t SHA_ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate_right(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static void sha256_init(struct sha256 *sha) {
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sha->state, first, sizeof first);
    sha->length = 0;
}

static void sha256_block(struct sha256 *sha) {
    uint32_t words[64], s[8];
    for (int i = 0; i < 16; i++) {
        const uint8_t *at = sha->block + 4 * i;
        words[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = words[i - 15], b = words[i - 2];
        words[i] = words[i - 16] + (rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3) + words[i - 7] +
                   (rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10);
    }
    memcpy(s, sha->state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t one = s[7] + (rotate_right(s[4], 6) ^ rotate_right(s[4], 11) ^ rotate_right(s[4], 25)) + choice +
                       SHA_ROUNDS[i] + words[i];
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t two = (rotate_right(s[0], 2) ^ rotate_right(s[0], 13) ^ rotate_right(s[0], 22)) + majority;
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        sha->state[i] += s[i];
}

static void sha256_update(struct sha256 *sha, const void *content, size_t count) {
    const uint8_t *bytes = content;
    for (size_t i = 0; i < count; i++) {
        sha->block[sha->length++ % 64] = bytes[i];
        if (sha->length % 64 == 0)
            sha256_block(sha);
    }
}

static void sha256_final(struct sha256 *sha, uint8_t digest[32]) {
    uint64_t bits = sha->length * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_update(sha, "\x80", 1);
    while (sha->length % 64 != 56)
        sha256_update(sha, "", 1);
    sha256_update(sha, length, 8);
    for (int i = 0; i < 32; i++)
        digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hex(const void *content, size_t count, char hex[HASH_TEXT_BYTES]) {
    uint8_t digest[32];
    struct sha256 sha;
    sha256_init(&sha);
    sha256_update(&sha, content, count);
    sha256_final(&sha, digest);
    to_hex(digest, 32, hex);
}

void hmac_sha256_hex(const char *key, const char *text, char hex[HASH_TEXT_BYTES]) {
    uint8_t padded[64] = {0}, digest[32];
    struct sha256 sha;
    if (strlen(key) > sizeof padded) {
        sha256_init(&sha);
        sha256_update(&sha, key, strlen(key));
        sha256_final(&sha, padded);
    } else {
        memcpy(padded, key, strlen(key));
    }
    for (int i = 0; i < 64; i++)
        padded[i] ^= 0x36;
    sha256_init(&sha);
    sha256_update(&sha, padded, 64);
    sha256_update(&sha, text, strlen(text));
    sha256_final(&sha, digest);
    for (int i = 0; i < 64; i++)
        padded[i] ^= 0x36 ^ 0x5c;
    sha256_init(&sha);
    sha256_update(&sha, padded, 64);
    sha256_update(&sha, digest, 32);
    sha256_final(&sha, digest);
    to_hex(digest, 32, hex);
}
