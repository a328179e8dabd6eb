/* The C API of Pellucid: see pellucid.h for what it does, docs/transport.md for the bytes on the wire.
 *
 * In this order: errors and text; SHA-256 and XXH3; channels and TLS; messages; addresses and the handshake;
 * announcements; pieces; the lanes; sessions; the end that connects; streams; the end that listens; viewers over HTTP.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pellucid.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "This code is for little-endian machines."
#endif

enum {
    POLL_MS = 200,
    LONGEST_HEAD = 64 * 1024,
    LONGEST_BODY = 128 * 1024,
    SMALLEST_PIECE = 4 << 20,
    MOST_PIECES = 8192,
    MOST_STREAMS = 64,
    MOST_ROUNDS = 4,
    MOST_WAITING = 16,
    HANDSHAKE_S = 5,
    LARGEST_BLOCK = 64 << 20,
    DEPTH = 4,
    NONCE_TEXT = 65,
    TRANSFER_TEXT = 33,
    LONGEST_NAME = 1024
};
static const uint32_t LAST = 0xFFFFFFFFu;

#define TRY(call)                 \
    do {                          \
        int code_ = (call);       \
        if (code_ != PELLUCID_OK) \
            return code_;         \
    } while (0)

/* ---- Errors and text ------------------------------------------------------------------------------------------ */

static int fail(pellucid_error *error, int code, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int fail(pellucid_error *error, int code, const char *remedy, const char *format, ...) {
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->what, sizeof error->what, format, arguments);
        va_end(arguments);
        snprintf(error->remedy, sizeof error->remedy, "%s", remedy);
        error->code = code;
    }
    return code;
}

static int broken(pellucid_error *error, const char *why) {
    return fail(error, PELLUCID_BROKEN,
                "Check that the other end is running, and send again: pieces that arrived are not sent twice.",
                "The transfer broke off: %s.", why);
}

static int against_rules(pellucid_error *error, const char *why) {
    return fail(error, PELLUCID_PROTOCOL, "Check that both ends have the same version.",
                "The other end broke the rules of the transfer: %s.", why);
}

static int no_memory(pellucid_error *error, uint64_t bytes) {
    return fail(error, PELLUCID_MEMORY, "Send a part of it, or free memory.", "There is no memory for %" PRIu64 " bytes.",
                bytes);
}

static int wrong_token(pellucid_error *error, const char *who) {
    return fail(error, PELLUCID_TOKEN, "Give the token that the receiving end was started with; nothing was sent.",
                "%s does not hold the same token.", who);
}

static int too_large(pellucid_error *error, uint64_t announced, uint64_t limit) {
    return fail(error, PELLUCID_TOO_LARGE, "Send a part of it or a smaller type, or start the receiving end for more.",
                "The array has %" PRIu64 " bytes, and the receiving end takes at most %" PRIu64 " bytes.", announced,
                limit);
}

static const char *const CODE_NAMES[] = {"ok",   "invalid",   "unreachable", "token",  "too large", "broken",
                                         "busy", "cancelled", "protocol",    "memory", "refused",   "timeout"};

const char *pellucid_code_name(int code) {
    int count = (int)(sizeof CODE_NAMES / sizeof *CODE_NAMES);
    return code >= 0 && code < count ? CODE_NAMES[code] : "unknown";
}

/* The classes of errors that the Python end names. */
static const struct {
    const char *name;
    int code;
} ERRORS[] = {{"InvalidInput", PELLUCID_INVALID},     {"Unreachable", PELLUCID_UNREACHABLE},
              {"TokenRefused", PELLUCID_TOKEN},       {"TransferTooLarge", PELLUCID_TOO_LARGE},
              {"TooLarge", PELLUCID_MEMORY},          {"TransferBroken", PELLUCID_BROKEN},
              {"TransferBusy", PELLUCID_BUSY},        {"Cancelled", PELLUCID_CANCELLED},
              {"TransferInvalid", PELLUCID_PROTOCOL}, {"PellucidError", PELLUCID_REFUSED}};
enum { ERROR_COUNT = sizeof ERRORS / sizeof *ERRORS };

static int code_of(const char *name) {
    for (int i = 0; i < ERROR_COUNT; i++)
        if (strcmp(ERRORS[i].name, name) == 0)
            return ERRORS[i].code;
    return PELLUCID_REFUSED;
}

static const char *name_of(int code) {
    for (int i = 0; i < ERROR_COUNT; i++)
        if (ERRORS[i].code == code)
            return ERRORS[i].name;
    return "PellucidError";
}

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void to_hex(const uint8_t *bytes, size_t count, char *text) {
    for (size_t i = 0; i < count; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

/* So many random bytes, as text. */
static int random_hex(size_t count, char *text, pellucid_error *error) {
    uint8_t bytes[32];
    int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, bytes, count);
    if (file >= 0)
        close(file);
    if (got != (ssize_t)count)
        return fail(error, PELLUCID_REFUSED, "Check /dev/urandom.", "This machine gives no random numbers.");
    to_hex(bytes, count, text);
    return PELLUCID_OK;
}

/* Whether two texts are equal, in a time that does not tell where they differ. */
static int same_secret(const char *a, const char *b) {
    size_t length = strlen(a);
    if (length != strlen(b))
        return 0;
    unsigned difference = 0;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned)(a[i] ^ b[i]);
    return difference == 0;
}

/* A whole number that is all of the text up to `stop`. */
static int read_number(const char *text, const char *stop, uint64_t *number) {
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

/* ---- SHA-256 and its keyed form: the proof of the token -------------------------------------------------------- */

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

static uint32_t turn(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static void sha256_start(struct sha256 *sha) {
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
        words[i] = words[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + words[i - 7] +
                   (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(s, sha->state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + choice + SHA_ROUNDS[i] + words[i];
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + majority;
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        sha->state[i] += s[i];
}

static void sha256_add(struct sha256 *sha, const void *content, size_t count) {
    const uint8_t *bytes = content;
    for (size_t i = 0; i < count; i++) {
        sha->block[sha->length++ % 64] = bytes[i];
        if (sha->length % 64 == 0)
            sha256_block(sha);
    }
}

static void sha256_end(struct sha256 *sha, uint8_t digest[32]) {
    uint64_t bits = sha->length * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(sha, "\x80", 1);
    while (sha->length % 64 != 56)
        sha256_add(sha, "", 1);
    sha256_add(sha, length, 8);
    for (int i = 0; i < 32; i++)
        digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

/* The keyed hash of a text, as text. */
static void keyed_hash(const char *key, const char *text, char hex[NONCE_TEXT]) {
    uint8_t padded[64] = {0}, digest[32];
    struct sha256 sha;
    if (strlen(key) > sizeof padded) {
        sha256_start(&sha);
        sha256_add(&sha, key, strlen(key));
        sha256_end(&sha, padded);
    } else {
        memcpy(padded, key, strlen(key));
    }
    for (int i = 0; i < 64; i++)
        padded[i] ^= 0x36;
    sha256_start(&sha);
    sha256_add(&sha, padded, 64);
    sha256_add(&sha, text, strlen(text));
    sha256_end(&sha, digest);
    for (int i = 0; i < 64; i++)
        padded[i] ^= 0x36 ^ 0x5c;
    sha256_start(&sha);
    sha256_add(&sha, padded, 64);
    sha256_add(&sha, digest, 32);
    sha256_end(&sha, digest);
    to_hex(digest, 32, hex);
}

/* ---- XXH3, 64 bits, seed 0: the checksum of a piece ------------------------------------------------------------ */

static const uint64_t P32_1 = 0x9E3779B1u, P32_2 = 0x85EBCA77u, P32_3 = 0xC2B2AE3Du;
static const uint64_t P64_1 = 0x9E3779B185EBCA87u, P64_2 = 0xC2B2AE3D27D4EB4Fu, P64_3 = 0x165667B19E3779F9u,
                      P64_4 = 0x85EBCA77C2B2AE63u, P64_5 = 0x27D4EB2F165667C5u;
static const uint64_t MIX_1 = 0x165667919E3779F9u, MIX_2 = 0x9FB21C651E98DF25u;

static const uint8_t SECRET[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};

static uint32_t word32(const uint8_t *at) {
    uint32_t word;
    memcpy(&word, at, 4);
    return word;
}

static uint64_t word64(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

__extension__ typedef unsigned __int128 wide;

/* Both halves of a 128-bit product, folded together. */
static uint64_t fold(uint64_t a, uint64_t b) {
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t avalanche(uint64_t h) {
    h = (h ^ h >> 37) * MIX_1;
    return h ^ h >> 32;
}

static uint64_t avalanche64(uint64_t h) {
    h = (h ^ h >> 33) * P64_2;
    h = (h ^ h >> 29) * P64_3;
    return h ^ h >> 32;
}

static uint64_t mix16(const uint8_t *at, const uint8_t *secret) {
    return fold(word64(at) ^ word64(secret), word64(at + 8) ^ word64(secret + 8));
}

static uint64_t hash_short(const uint8_t *at, size_t length) {
    if (length > 8) {
        uint64_t low = word64(at) ^ (word64(SECRET + 24) ^ word64(SECRET + 32));
        uint64_t high = word64(at + length - 8) ^ (word64(SECRET + 40) ^ word64(SECRET + 48));
        return avalanche(length + __builtin_bswap64(low) + high + fold(low, high));
    }
    if (length >= 4) {
        uint64_t both = word32(at + length - 4) + ((uint64_t)word32(at) << 32);
        uint64_t h = both ^ (word64(SECRET + 8) ^ word64(SECRET + 16));
        h ^= (h << 49 | h >> 15) ^ (h << 24 | h >> 40);
        h *= MIX_2;
        h ^= (h >> 35) + length;
        h *= MIX_2;
        return h ^ h >> 28;
    }
    if (length > 0) {
        uint32_t all = (uint32_t)at[0] << 16 | (uint32_t)at[length >> 1] << 24 | at[length - 1] | (uint32_t)length << 8;
        return avalanche64(all ^ (uint64_t)(word32(SECRET) ^ word32(SECRET + 4)));
    }
    return avalanche64(word64(SECRET + 56) ^ word64(SECRET + 64));
}

static uint64_t hash_medium(const uint8_t *at, size_t length) {
    uint64_t sum = length * P64_1;
    if (length <= 128) {
        for (size_t i = (length - 1) / 32 + 1; i-- > 0;)
            sum += mix16(at + 16 * i, SECRET + 32 * i) + mix16(at + length - 16 * (i + 1), SECRET + 32 * i + 16);
        return avalanche(sum);
    }
    for (size_t i = 0; i < 8; i++)
        sum += mix16(at + 16 * i, SECRET + 16 * i);
    sum = avalanche(sum);
    for (size_t i = 8; i < length / 16; i++)
        sum += mix16(at + 16 * i, SECRET + 16 * (i - 8) + 3);
    return avalanche(sum + mix16(at + length - 16, SECRET + 136 - 17));
}

/* One stripe of 64 bytes. */
static inline void accumulate(uint64_t sums[8], const uint8_t *at, const uint8_t *secret) {
    for (int i = 0; i < 8; i++) {
        uint64_t value = word64(at + 8 * i), key = value ^ word64(secret + 8 * i);
        sums[i ^ 1] += value;
        sums[i] += (key & 0xFFFFFFFFu) * (key >> 32);
    }
}

/* So many stripes, each with the secret moved on by eight bytes. */
static void accumulate_many(uint64_t sums[8], const uint8_t *at, size_t stripes) {
    for (size_t i = 0; i < stripes; i++)
        accumulate(sums, at + 64 * i, SECRET + 8 * i);
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAS_AVX2

/* The same, four numbers at a time. */
__attribute__((target("avx2"))) static void accumulate_avx2(uint64_t sums[8], const uint8_t *at, size_t stripes) {
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)sums);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(sums + 4));
    for (size_t i = 0; i < stripes; i++) {
        const __m256i *content = (const __m256i *)(const void *)(at + 64 * i);
        const __m256i *secret = (const __m256i *)(const void *)(SECRET + 8 * i);
        __m256i a = _mm256_loadu_si256(content), b = _mm256_loadu_si256(content + 1);
        __m256i key_a = _mm256_xor_si256(a, _mm256_loadu_si256(secret));
        __m256i key_b = _mm256_xor_si256(b, _mm256_loadu_si256(secret + 1));
        _mm_prefetch((const char *)(at + 64 * i + 1024), _MM_HINT_T0);
        low = _mm256_add_epi64(low, _mm256_mul_epu32(key_a, _mm256_srli_epi64(key_a, 32)));
        high = _mm256_add_epi64(high, _mm256_mul_epu32(key_b, _mm256_srli_epi64(key_b, 32)));
        low = _mm256_add_epi64(low, _mm256_shuffle_epi32(a, 0x4E));
        high = _mm256_add_epi64(high, _mm256_shuffle_epi32(b, 0x4E));
    }
    _mm256_storeu_si256((__m256i *)(void *)sums, low);
    _mm256_storeu_si256((__m256i *)(void *)(sums + 4), high);
}
#endif

typedef void accumulator(uint64_t sums[8], const uint8_t *at, size_t stripes);

static accumulator *fastest(void) {
#ifdef HAS_AVX2
    if (__builtin_cpu_supports("avx2"))
        return accumulate_avx2;
#endif
    return accumulate_many;
}

static void hash_stripes(uint64_t sums[8], const uint8_t *at, size_t length) {
    enum { STRIPES = (192 - 64) / 8 };
    accumulator *run = fastest();
    size_t blocks = (length - 1) / (64 * STRIPES), left = (length - 1 - 64 * STRIPES * blocks) / 64;
    for (size_t block = 0; block < blocks; block++, at += 64 * STRIPES) {
        run(sums, at, STRIPES);
        for (int i = 0; i < 8; i++)
            sums[i] = (sums[i] ^ sums[i] >> 47 ^ word64(SECRET + 128 + 8 * i)) * P32_1;
    }
    run(sums, at, left);
}

static uint64_t hash_long(const uint8_t *at, size_t length) {
    uint64_t sums[8] = {P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1};
    hash_stripes(sums, at, length);
    accumulate(sums, at + length - 64, SECRET + 192 - 64 - 7);
    uint64_t h = length * P64_1;
    for (int i = 0; i < 4; i++)
        h += fold(sums[2 * i] ^ word64(SECRET + 11 + 16 * i), sums[2 * i + 1] ^ word64(SECRET + 19 + 16 * i));
    return avalanche(h);
}

static uint64_t xxh3(const void *content, size_t length) {
    return length <= 16 ? hash_short(content, length) : length <= 240 ? hash_medium(content, length)
                                                                       : hash_long(content, length);
}

/* ---- TLS, from libssl where it can be loaded ------------------------------------------------------------------- */

static struct {
    void *context;
    void *(*connection_new)(void *);
    int (*set_fd)(void *, int);
    int (*connect)(void *);
    int (*read)(void *, void *, int);
    int (*write)(void *, const void *, int);
    int (*get_error)(const void *, int);
    void (*free)(void *);
    void *(*peer)(const void *);
    int (*encode)(void *, unsigned char **);
    void (*free_certificate)(void *);
} tls;
static pthread_once_t tls_once = PTHREAD_ONCE_INIT;

static void *symbol(void *library, const char *name) { return library == NULL ? NULL : dlsym(library, name); }

/* dlsym gives an object pointer; ISO C has no cast from that to a function. */
#define LOAD(field, library, name)                       \
    do {                                                 \
        void *found_ = symbol(library, name);            \
        memcpy(&tls.field, &found_, sizeof tls.field);   \
        is_complete = is_complete && found_ != NULL;     \
    } while (0)

static void load_tls(void) {
    void *ssl = dlopen("libssl.so.3", RTLD_NOW | RTLD_GLOBAL);
    ssl = ssl != NULL ? ssl : dlopen("libssl.so", RTLD_NOW | RTLD_GLOBAL);
    void *(*method)(void), *(*new_context)(const void *);
    long (*control)(void *, int, long, void *);
    void *parts[3] = {symbol(ssl, "TLS_client_method"), symbol(ssl, "SSL_CTX_new"), symbol(ssl, "SSL_CTX_ctrl")};
    int is_complete = parts[0] != NULL && parts[1] != NULL && parts[2] != NULL;
    LOAD(connection_new, ssl, "SSL_new");
    LOAD(set_fd, ssl, "SSL_set_fd");
    LOAD(connect, ssl, "SSL_connect");
    LOAD(read, ssl, "SSL_read");
    LOAD(write, ssl, "SSL_write");
    LOAD(get_error, ssl, "SSL_get_error");
    LOAD(free, ssl, "SSL_free");
    LOAD(peer, ssl, "SSL_get1_peer_certificate");
    LOAD(encode, ssl, "i2d_X509");
    LOAD(free_certificate, ssl, "X509_free");
    if (!is_complete)
        return;
    memcpy(&method, &parts[0], sizeof method);
    memcpy(&new_context, &parts[1], sizeof new_context);
    memcpy(&control, &parts[2], sizeof control);
    tls.context = new_context(method());
    if (tls.context != NULL)
        control(tls.context, 33, 1 | 2, NULL); /* SSL_CTRL_MODE: partial writes, from a buffer that moves on */
}

/* ---- Channels: one connection, read and written in short turns so that a cancel is noticed ---------------------- */

/* What all connections of a transfer share. */
struct watch {
    pthread_mutex_t lock;
    double timeout_s;
    uint64_t done, total;
    int (*progress)(void *, uint64_t, uint64_t);
    void *context;
    int is_cancelled, is_started;
};

struct channel {
    int fd;
    int is_local;
    int passed_fd; /* a descriptor that came with a message, or -1 */
    void *ssl;
    struct watch *watch;
};

static void watch_start(struct watch *watch, const pellucid_options *options) {
    memset(watch, 0, sizeof *watch);
    pthread_mutex_init(&watch->lock, NULL);
    watch->is_started = 1;
    watch->timeout_s = options->timeout_s;
    watch->progress = options->progress;
    watch->context = options->context;
}

static void watch_end(struct watch *watch) {
    if (watch->is_started)
        pthread_mutex_destroy(&watch->lock);
    watch->is_started = 0;
}

/* Count what is done and ask whether to go on. */
static int advance(struct watch *watch, uint64_t bytes, pellucid_error *error) {
    pthread_mutex_lock(&watch->lock);
    watch->done += bytes;
    if (watch->progress != NULL && !watch->is_cancelled)
        watch->is_cancelled = watch->progress(watch->context, watch->done, watch->total);
    int is_cancelled = watch->is_cancelled;
    pthread_mutex_unlock(&watch->lock);
    if (!is_cancelled)
        return PELLUCID_OK;
    return fail(error, PELLUCID_CANCELLED, "Send again to continue where it stopped.", "The transfer was cancelled.");
}

static void channel_start(struct channel *channel, int fd, struct watch *watch) {
    struct timeval turn_time = {0, POLL_MS * 1000};
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    memset(channel, 0, sizeof *channel);
    channel->fd = fd;
    channel->passed_fd = -1;
    channel->watch = watch;
    channel->is_local = getsockname(fd, (struct sockaddr *)&name, &length) == 0 && name.ss_family == AF_UNIX;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &turn_time, sizeof turn_time);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &turn_time, sizeof turn_time);
    if (!channel->is_local) {
        int on = 1, idle_s = 10, between_s = 5, probes = 4, silence_ms = 30000;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms);
    }
}

static void channel_close(struct channel *channel) {
    if (channel->fd < 0)
        return;
    if (channel->ssl != NULL)
        tls.free(channel->ssl);
    if (channel->passed_fd >= 0)
        close(channel->passed_fd);
    shutdown(channel->fd, SHUT_RDWR);
    close(channel->fd);
    channel->fd = channel->passed_fd = -1;
    channel->ssl = NULL;
}

static int take_passed_fd(struct channel *channel) {
    int fd = channel->passed_fd;
    channel->passed_fd = -1;
    return fd;
}

static ssize_t receive_local(struct channel *channel, void *to, size_t count) {
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } ancillary;
    struct iovec part = {to, count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary,
                             .msg_controllen = sizeof ancillary};
    ssize_t got = recvmsg(channel->fd, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head != NULL && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int))) {
        if (channel->passed_fd >= 0)
            close(channel->passed_fd);
        memcpy(&channel->passed_fd, CMSG_DATA(head), sizeof(int));
    }
    return got;
}

/* libssl writes without MSG_NOSIGNAL: a connection that is gone must not end the program. */
static int write_tls(void *ssl, const void *from, size_t count) {
    sigset_t pipe_only, before, pending;
    struct timespec at_once = {0, 0};
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    int sent = tls.write(ssl, from, count > 1 << 30 ? 1 << 30 : (int)count);
    if (sent <= 0 && !sigismember(&pending, SIGPIPE))
        while (sigtimedwait(&pipe_only, NULL, &at_once) >= 0) {
        }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return sent;
}

/* -1 with errno = EAGAIN: nothing yet. */
static ssize_t some(struct channel *channel, void *bytes, size_t count, int is_writing) {
    if (channel->ssl == NULL) {
        if (is_writing)
            return send(channel->fd, bytes, count, MSG_NOSIGNAL);
        return channel->is_local ? receive_local(channel, bytes, count) : recv(channel->fd, bytes, count, 0);
    }
    errno = 0;
    int moved = is_writing ? write_tls(channel->ssl, bytes, count)
                           : tls.read(channel->ssl, bytes, count > 1 << 30 ? 1 << 30 : (int)count);
    if (moved > 0)
        return moved;
    int why = tls.get_error(channel->ssl, moved);
    if (why == 6) /* the other end said good-bye */
        return 0;
    errno = why == 2 || why == 3 ? EAGAIN : errno == 0 ? ECONNRESET : errno;
    return -1;
}

static int move(struct channel *channel, void *bytes, size_t count, int is_writing, int is_patient,
                pellucid_error *error) {
    double since = now_s();
    char *at = bytes;
    while (count > 0) {
        ssize_t moved = some(channel, at, count, is_writing);
        if (moved > 0) {
            at += moved;
            count -= (size_t)moved;
            since = now_s();
        } else if (moved == 0) {
            return broken(error, "the other end closed the connection");
        } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
            TRY(advance(channel->watch, 0, error));
            if (!is_patient && now_s() - since > channel->watch->timeout_s)
                return broken(error, "the other end said nothing for too long");
        } else {
            return broken(error, strerror(errno));
        }
    }
    return PELLUCID_OK;
}

static int write_bytes(struct channel *channel, const void *bytes, size_t count, pellucid_error *error) {
    return move(channel, (void *)(uintptr_t)bytes, count, 1, 0, error);
}

static int read_bytes(struct channel *channel, void *bytes, size_t count, pellucid_error *error) {
    return move(channel, bytes, count, 0, 0, error);
}

static int has_news(const struct channel *channel, int wait_ms) {
    struct pollfd waiting = {channel->fd, POLLIN, 0};
    return poll(&waiting, 1, wait_ms) > 0;
}

/* ---- Messages --------------------------------------------------------------------------------------------------- */

struct message {
    char *head; /* the word, then lines of "key: value" */
    char *body;
    uint32_t body_length;
};

struct text { /* that grows */
    char *at;
    size_t length, room;
    int is_lost;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (text->length + (size_t)length + 1 > text->room) {
        size_t room = 2 * text->room + (size_t)length + 256;
        char *larger = text->is_lost ? NULL : realloc(text->at, room);
        if (larger == NULL) {
            text->is_lost = 1;
            return;
        }
        text->at = larger;
        text->room = room;
    }
    va_start(arguments, format);
    vsnprintf(text->at + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

/* A line "key: value", with blanks in place of line breaks. */
static void add_line(struct text *text, const char *key, const char *value) {
    size_t start = text->length;
    add(text, "\n%s: %s", key, value);
    for (size_t i = start + 1; !text->is_lost && i < text->length; i++)
        if (text->at[i] == '\n' || text->at[i] == '\r')
            text->at[i] = ' ';
}

static void message_free(struct message *message) {
    free(message->head);
    free(message->body);
    memset(message, 0, sizeof *message);
}

/* Write a message, with a descriptor where it is not -1. Frees the head. */
static int say(struct channel *channel, struct text *head, const void *body, size_t body_length, int descriptor,
               pellucid_error *error) {
    uint32_t lengths[2] = {(uint32_t)head->length, (uint32_t)body_length};
    char prefix[12] = "PLT1";
    int code = PELLUCID_OK;
    memcpy(prefix + 4, lengths, sizeof lengths);
    if (head->is_lost || head->length > LONGEST_HEAD || body_length > LONGEST_BODY) {
        code = fail(error, PELLUCID_INVALID, "Say less.", "A message is too long.");
    } else if (descriptor >= 0) {
        union {
            char space[CMSG_SPACE(sizeof(int))];
            struct cmsghdr align;
        } ancillary;
        memset(&ancillary, 0, sizeof ancillary);
        struct iovec part = {prefix, sizeof prefix};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary,
                                 .msg_controllen = sizeof ancillary};
        struct cmsghdr *first = CMSG_FIRSTHDR(&message);
        first->cmsg_level = SOL_SOCKET;
        first->cmsg_type = SCM_RIGHTS;
        first->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(first), &descriptor, sizeof(int));
        if (sendmsg(channel->fd, &message, MSG_NOSIGNAL) != (ssize_t)sizeof prefix)
            code = broken(error, strerror(errno));
    } else {
        code = write_bytes(channel, prefix, sizeof prefix, error);
    }
    code = code != PELLUCID_OK ? code : write_bytes(channel, head->at, head->length, error);
    code = code != PELLUCID_OK ? code : write_bytes(channel, body, body_length, error);
    free(head->at);
    memset(head, 0, sizeof *head);
    return code;
}

static int say_word(struct channel *channel, const char *word, pellucid_error *error) {
    struct text head = {0};
    add(&head, "%s", word);
    return say(channel, &head, "", 0, -1, error);
}

static int is_kind(const struct message *message, const char *kind) {
    size_t length = strlen(kind);
    return strncmp(message->head, kind, length) == 0 && (message->head[length] == '\n' || message->head[length] == 0);
}

/* The value of a field, which ends at a line break; NULL where there is none. */
static const char *field(const struct message *message, const char *key, size_t *length) {
    size_t key_length = strlen(key);
    for (const char *line = strchr(message->head, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        if (strncmp(line + 1, key, key_length) == 0 && strncmp(line + 1 + key_length, ": ", 2) == 0) {
            const char *value = line + key_length + 3;
            *length = strcspn(value, "\n");
            return value;
        }
    }
    return NULL;
}

/* Copy a field into room bytes; an empty text where there is none or it is too long. */
static void copy_field(const struct message *message, const char *key, char *to, size_t room) {
    size_t length = 0;
    const char *value = field(message, key, &length);
    to[0] = 0;
    if (value != NULL && length < room) {
        memcpy(to, value, length);
        to[length] = 0;
    }
}

static int number_field(const struct message *message, const char *key, uint64_t *number, pellucid_error *error) {
    size_t length = 0;
    const char *value = field(message, key, &length);
    if (value == NULL || !read_number(value, value + length, number))
        return against_rules(error, "a number is missing in a message");
    return PELLUCID_OK;
}

/* The error that a refusal stands for. */
static int refused(const struct message *message, pellucid_error *error) {
    char name[64], what[512], remedy[512];
    copy_field(message, "error", name, sizeof name);
    copy_field(message, "what", what, sizeof what);
    copy_field(message, "do", remedy, sizeof remedy);
    return fail(error, code_of(name), remedy, "%s", what[0] ? what : "The other end refuses.");
}

/* Read the next message; a refusal is returned as the error it stands for. is_patient: the other end may take its time. */
static int hear(struct channel *channel, struct message *message, int is_patient, pellucid_error *error) {
    char prefix[12];
    uint32_t lengths[2];
    memset(message, 0, sizeof *message);
    TRY(move(channel, prefix, sizeof prefix, 0, is_patient, error));
    memcpy(lengths, prefix + 4, sizeof lengths);
    if (memcmp(prefix, "PLT1", 4) != 0 || lengths[0] > LONGEST_HEAD || lengths[1] > LONGEST_BODY)
        return against_rules(error, "what it said is no message of this protocol");
    message->head = calloc(1, lengths[0] + 1);
    message->body = calloc(1, lengths[1] + 1);
    message->body_length = lengths[1];
    int code = message->head == NULL || message->body == NULL ? no_memory(error, lengths[0]) : PELLUCID_OK;
    code = code != PELLUCID_OK ? code : read_bytes(channel, message->head, lengths[0], error);
    code = code != PELLUCID_OK ? code : read_bytes(channel, message->body, lengths[1], error);
    if (code == PELLUCID_OK && is_kind(message, "refused"))
        code = refused(message, error);
    if (code != PELLUCID_OK)
        message_free(message);
    return code;
}

/* Read the next message, which has to be of one of two kinds (the second may be NULL). */
static int expect(struct channel *channel, const char *kind, const char *or_kind, struct message *message,
                  pellucid_error *error) {
    TRY(hear(channel, message, 1, error));
    if (is_kind(message, kind) || (or_kind != NULL && is_kind(message, or_kind)))
        return PELLUCID_OK;
    message_free(message);
    return against_rules(error, "it said something out of turn");
}

static void say_refusal(struct channel *channel, const pellucid_error *error) {
    struct text head = {0};
    add(&head, "refused");
    add_line(&head, "error", name_of(error->code));
    add_line(&head, "what", error->what);
    add_line(&head, "do", error->remedy);
    say(channel, &head, "", 0, -1, NULL);
}

/* Why bytes stopped: what the other end said before it closed, else what was seen here. */
static int reason(struct channel *control, int code, pellucid_error *error) {
    struct message message;
    pellucid_error said;
    if (code != PELLUCID_BROKEN || !has_news(control, 2000))
        return code;
    int heard = hear(control, &message, 0, &said);
    if (heard == PELLUCID_OK)
        message_free(&message);
    if (heard == PELLUCID_OK || heard == PELLUCID_BROKEN)
        return code;
    if (error != NULL)
        *error = said;
    return heard;
}

/* ---- Addresses and the handshake ------------------------------------------------------------------------------- */

struct address {
    char host[256];
    char port[8];
    char pin[NONCE_TEXT]; /* empty: no TLS */
};

static int address_read(const char *text, struct address *address, pellucid_error *error) {
    const char *rest = text == NULL ? "" : text;
    int is_tls = strncmp(rest, "tls://", 6) == 0;
    rest += is_tls || strncmp(rest, "tcp://", 6) == 0 ? 6 : 0;
    const char *hash = strchr(rest, '#'), *end = hash != NULL ? hash : rest + strlen(rest), *colon = end;
    while (colon > rest && *colon != ':')
        colon--;
    uint64_t port = 0;
    size_t length = (size_t)(colon - rest);
    int is_right = *colon == ':' && length < sizeof address->host && read_number(colon + 1, end, &port) &&
                   port < 65536 && is_tls == (hash != NULL) && (hash == NULL || strlen(hash + 1) == 64);
    if (!is_right)
        return fail(error, PELLUCID_INVALID, "Write host:port, or tls://host:port#PIN.", "'%.80s' is not an address.",
                    text == NULL ? "" : text);
    if (length >= 2 && rest[0] == '[' && rest[length - 1] == ']') {
        rest++;
        length -= 2;
    }
    memcpy(address->host, rest, length);
    address->host[length] = 0;
    if (length == 0)
        strcpy(address->host, "127.0.0.1");
    snprintf(address->port, sizeof address->port, "%u", (unsigned)port);
    snprintf(address->pin, sizeof address->pin, "%s", hash != NULL ? hash + 1 : "");
    return PELLUCID_OK;
}

static int unreachable(pellucid_error *error, const struct address *address, const char *why) {
    return fail(error, PELLUCID_UNREACHABLE,
                "Check that it is running there, the address and port, and the firewall between the two machines.",
                "%s:%s cannot be reached: %s.", address->host, address->port, why);
}

/* Speak TLS on a channel, with nobody but the holder of the pinned certificate. */
static int start_tls(struct channel *channel, const struct address *address, pellucid_error *error) {
    uint8_t digest[32];
    char shown[NONCE_TEXT] = "";
    pthread_once(&tls_once, load_tls);
    if (tls.context == NULL)
        return unreachable(error, address, "this needs TLS, and libssl 3 is not installed");
    channel->ssl = tls.connection_new(tls.context);
    if (channel->ssl == NULL || tls.set_fd(channel->ssl, channel->fd) != 1)
        return unreachable(error, address, "TLS failed");
    double since = now_s();
    for (int result; (result = tls.connect(channel->ssl)) != 1;) {
        int why = tls.get_error(channel->ssl, result);
        if ((why != 2 && why != 3) || now_s() - since > HANDSHAKE_S)
            return unreachable(error, address, "TLS failed");
    }
    void *certificate = tls.peer(channel->ssl);
    unsigned char *encoded = NULL;
    int length = certificate == NULL ? 0 : tls.encode(certificate, NULL);
    unsigned char *space = length > 0 ? malloc((size_t)length) : NULL;
    if (space != NULL) {
        struct sha256 sha;
        encoded = space;
        tls.encode(certificate, &encoded);
        sha256_start(&sha);
        sha256_add(&sha, space, (size_t)length);
        sha256_end(&sha, digest);
        to_hex(digest, 32, shown);
        free(space);
    }
    if (certificate != NULL)
        tls.free_certificate(certificate);
    if (!same_secret(shown, address->pin))
        return unreachable(error, address, "another certificate is shown there than the pinned one");
    return PELLUCID_OK;
}

static int connect_to(const struct address *address, struct watch *watch, struct channel *channel,
                      pellucid_error *error) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int fault = getaddrinfo(address->host, address->port, &hints, &found), fd = -1, why = 0;
    channel->fd = -1;
    if (fault != 0)
        return unreachable(error, address, gai_strerror(fault));
    for (struct addrinfo *each = found; each != NULL && fd < 0; each = each->ai_next) {
        struct timeval limit = {10, 0};
        fd = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        if (fd >= 0 && connect(fd, each->ai_addr, each->ai_addrlen) != 0) {
            why = errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    if (fd < 0)
        return unreachable(error, address, strerror(why));
    channel_start(channel, fd, watch);
    int code = address->pin[0] ? start_tls(channel, address, error) : PELLUCID_OK;
    if (code != PELLUCID_OK)
        channel_close(channel);
    return code;
}

/* The address of a local socket with an abstract name: it is no file, and is gone with its process. */
static socklen_t local_name(const char *name, struct sockaddr_un *local) {
    memset(local, 0, sizeof *local);
    local->sun_family = AF_UNIX;
    strncpy(local->sun_path + 1, name, sizeof local->sun_path - 2);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(local->sun_path + 1));
}

static int connect_locally(const char *name, struct watch *watch, struct channel *channel) {
    struct sockaddr_un local;
    socklen_t length = local_name(name, &local);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&local, length) != 0) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    channel_start(channel, fd, watch);
    return 1;
}

/* The same text in every process of one running machine, and nowhere else. */
static void machine(char *text, size_t room) {
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    text[0] = 0;
    if (file == NULL)
        return;
    if (fgets(text, (int)room, file) == NULL)
        text[0] = 0;
    text[strcspn(text, "\n")] = 0;
    fclose(file);
}

static void prove(const char *token, const char *side, const char *theirs, const char *ours, char proof[NONCE_TEXT]) {
    char said[256];
    snprintf(said, sizeof said, "%s %.80s %.80s", side, theirs, ours);
    keyed_hash(token, said, proof);
}

static int token_check(const char *token, pellucid_error *error) {
    if (token == NULL || strlen(token) < 8)
        return fail(error, PELLUCID_INVALID, "Give the token of the other end.",
                    "The token is shorter than 8 characters.");
    return PELLUCID_OK;
}

/* The connecting end's part of the handshake. transfer: NULL for a control connection. */
static int introduce(struct channel *channel, const char *token, const char *transfer, struct message *welcome,
                     pellucid_error *error) {
    char theirs[80], ours[NONCE_TEXT], proof[NONCE_TEXT], shown[80], version[8];
    struct message greeting;
    TRY(expect(channel, "pellucid-transfer", NULL, &greeting, error));
    copy_field(&greeting, "nonce", theirs, sizeof theirs);
    copy_field(&greeting, "version", version, sizeof version);
    message_free(&greeting);
    if (strcmp(version, "1") != 0)
        return against_rules(error, "it speaks another version of the protocol");
    TRY(random_hex(32, ours, error));
    prove(token, "connect", theirs, ours, proof);
    struct text head = {0};
    add(&head, "open\nversion: 1\nnonce: %s\nproof: %s\nrole: %s", ours, proof, transfer ? "stream" : "control");
    if (transfer != NULL)
        add_line(&head, "transfer", transfer);
    TRY(say(channel, &head, "", 0, -1, error));
    TRY(expect(channel, "welcome", NULL, welcome, error));
    prove(token, "listen", theirs, ours, proof);
    copy_field(welcome, "proof", shown, sizeof shown);
    if (same_secret(shown, proof))
        return PELLUCID_OK;
    message_free(welcome);
    return wrong_token(error, "The listening end");
}

/* ---- What is sent, and its pieces ------------------------------------------------------------------------------ */

static const struct {
    const char *wire, *name;
    unsigned bytes;
} TYPES[] = {{"|b1", "bool", 1},    {"|i1", "int8", 1},    {"<i2", "int16", 2},   {"<i4", "int32", 4},
             {"<i8", "int64", 8},   {"|u1", "uint8", 1},   {"<u2", "uint16", 2},  {"<u4", "uint32", 4},
             {"<u8", "uint64", 8},  {"<f2", "float16", 2}, {"<f4", "float32", 4}, {"<f8", "float64", 8},
             {"<c8", "complex64", 8}, {"<c16", "complex128", 16}};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

const char *pellucid_type_name(pellucid_type type) {
    return (unsigned)type < TYPE_COUNT ? TYPES[type].name : "unknown";
}

uint64_t pellucid_bytes(const pellucid_array *array) {
    uint64_t bytes = (unsigned)array->type < TYPE_COUNT ? TYPES[array->type].bytes : 0;
    for (int i = 0; i < array->axes && i < PELLUCID_MOST_AXES; i++)
        if (__builtin_mul_overflow(bytes, array->shape[i], &bytes))
            return UINT64_MAX;
    return bytes;
}

/* Memory of an array that was received, and the texts in it. */
struct owned {
    size_t mapped;
    char *unit, *name, *metadata;
};

void pellucid_free(pellucid_array *array) {
    struct owned *owned = array == NULL ? NULL : array->owned;
    if (owned == NULL)
        return;
    if (array->data != NULL)
        munmap(array->data, owned->mapped);
    free(owned->unit);
    free(owned->name);
    free(owned->metadata);
    free(owned);
    memset(array, 0, sizeof *array);
}

/* One transfer: the array, its number, and how it is cut. */
struct transfer {
    pellucid_array array;
    char number[TRANSFER_TEXT];
    int has_checksum, is_stream;
    uint64_t bytes, piece_bytes;
    uint32_t count;     /* of pieces */
    uint8_t *is_there;  /* for each piece, at the receiving end */
    int descriptor;     /* of the memory, at the receiving end; -1 at the other */
};

static void transfer_free(struct transfer *transfer) {
    pellucid_free(&transfer->array);
    free(transfer->is_there);
    if (transfer->descriptor >= 0)
        close(transfer->descriptor);
    memset(transfer, 0, sizeof *transfer);
    transfer->descriptor = -1;
}

static int array_check(const pellucid_array *array, int needs_data, pellucid_error *error) {
    uint64_t bytes = pellucid_bytes(array);
    if (array->axes < 0 || array->axes > PELLUCID_MOST_AXES || (unsigned)array->type >= TYPE_COUNT)
        return fail(error, PELLUCID_INVALID, "Give 0 to 8 axes and one of the types.",
                    "An array of %d axes and type %d cannot be sent.", array->axes, (int)array->type);
    if (bytes == UINT64_MAX || (needs_data && bytes > 0 && array->data == NULL))
        return fail(error, PELLUCID_INVALID, "Set data and shape.", "The array has no data, or too much.");
    if (array->metadata != NULL && strlen(array->metadata) > PELLUCID_LONGEST_METADATA)
        return fail(error, PELLUCID_INVALID, "Send large tables as arrays.",
                    "The metadata has %zu bytes, and %d may be sent.", strlen(array->metadata),
                    PELLUCID_LONGEST_METADATA);
    if (array->name != NULL && strlen(array->name) > LONGEST_NAME)
        return fail(error, PELLUCID_INVALID, "Choose a shorter one.", "The name is too long.");
    return PELLUCID_OK;
}

static int announce(struct channel *control, const struct transfer *transfer, const char *lane,
                    pellucid_error *error) {
    const pellucid_array *array = &transfer->array;
    const char *metadata = array->metadata != NULL ? array->metadata : "{}";
    struct text head = {0};
    add(&head, "announce\ntransfer: %s\nlane: %s\ndtype: %s\nchecksum: %s\nmode: %s\nshape:", transfer->number, lane,
        TYPES[array->type].wire, transfer->has_checksum ? "xxh3" : "none", transfer->is_stream ? "stream" : "whole");
    for (int i = 0; i < array->axes; i++)
        add(&head, " %" PRIu64, array->shape[i]);
    if (array->axes == 0)
        add(&head, " ");
    add(&head, "\nspacing:%s", array->spacing[0] == 0 || array->axes == 0 ? " " : "");
    for (int i = 0; i < array->axes && array->spacing[0] != 0; i++)
        add(&head, " %.17g", array->spacing[i]);
    add_line(&head, "name", array->name != NULL ? array->name : "");
    add_line(&head, "unit", array->unit != NULL ? array->unit : "");
    return say(control, &head, metadata, strlen(metadata), -1, error);
}

static char *copied_field(const struct message *message, const char *key) {
    size_t length = 0;
    const char *value = field(message, key, &length);
    return value == NULL ? strdup("") : strndup(value, length);
}

static int read_shape(const struct message *message, pellucid_array *array, pellucid_error *error) {
    size_t length = 0;
    const char *at = field(message, "shape", &length), *end = at == NULL ? NULL : at + length;
    if (at == NULL)
        return against_rules(error, "it announced no shape");
    for (;;) {
        while (at < end && *at == ' ')
            at++;
        if (at == end)
            return PELLUCID_OK;
        const char *stop = at;
        while (stop < end && *stop != ' ')
            stop++;
        if (array->axes == PELLUCID_MOST_AXES || !read_number(at, stop, &array->shape[array->axes]))
            return against_rules(error, "it announced no shape");
        array->axes++;
        at = stop;
    }
}

/* What the other end announced. The texts in it belong to the transfer. */
static int read_announcement(const struct message *message, struct transfer *transfer, pellucid_error *error) {
    char wire[8], word[16], spacing[512];
    pellucid_array *array = &transfer->array;
    struct owned *owned = calloc(1, sizeof *owned);
    if (owned == NULL)
        return no_memory(error, sizeof *owned);
    array->owned = owned;
    array->name = owned->name = copied_field(message, "name");
    array->unit = owned->unit = copied_field(message, "unit");
    array->metadata = owned->metadata = strdup(message->body);
    if (owned->name == NULL || owned->unit == NULL || owned->metadata == NULL)
        return no_memory(error, message->body_length);
    TRY(read_shape(message, array, error));
    copy_field(message, "dtype", wire, sizeof wire);
    int type = TYPE_COUNT - 1;
    while (type >= 0 && strcmp(TYPES[type].wire, wire) != 0)
        type--;
    array->type = (pellucid_type)(type < 0 ? 0 : type);
    copy_field(message, "transfer", transfer->number, sizeof transfer->number);
    transfer->bytes = pellucid_bytes(array);
    if (type < 0 || strlen(transfer->number) != 32 || transfer->bytes == UINT64_MAX)
        return against_rules(error, "it announced a type, number or size that makes no sense");
    copy_field(message, "checksum", word, sizeof word);
    transfer->has_checksum = strcmp(word, "xxh3") == 0;
    copy_field(message, "mode", word, sizeof word);
    transfer->is_stream = strcmp(word, "stream") == 0;
    if (transfer->is_stream && array->axes != 3)
        return against_rules(error, "it announced a stream that is no volume");
    copy_field(message, "spacing", spacing, sizeof spacing);
    char *at = spacing;
    for (int i = 0; i < array->axes && *at; i++)
        array->spacing[i] = strtod(at, &at);
    return PELLUCID_OK;
}

static void cut(struct transfer *transfer, uint64_t piece_bytes) {
    transfer->piece_bytes = piece_bytes;
    transfer->count = (uint32_t)((transfer->bytes + piece_bytes - 1) / piece_bytes);
}

static uint64_t span(const struct transfer *transfer, uint32_t number, uint64_t *start) {
    *start = (uint64_t)number * transfer->piece_bytes;
    uint64_t left = transfer->bytes - *start;
    return left < transfer->piece_bytes ? left : transfer->piece_bytes;
}

/* Memory for what was announced, reserved and mapped before a byte comes. */
static int prepare(struct transfer *transfer, pellucid_error *error) {
    uint64_t wanted = (transfer->bytes + MOST_PIECES - 1) / MOST_PIECES, piece = SMALLEST_PIECE;
    struct owned *owned = transfer->array.owned;
    wanted = (wanted + (1 << 20) - 1) >> 20 << 20;
    cut(transfer, wanted > piece ? wanted : piece);
    owned->mapped = transfer->bytes > 0 ? transfer->bytes : 1;
    transfer->is_there = calloc(transfer->count + 1, 1);
    transfer->descriptor = memfd_create("pellucid", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (transfer->is_there == NULL || transfer->descriptor < 0 ||
        ftruncate(transfer->descriptor, (off_t)owned->mapped) != 0 ||
        fcntl(transfer->descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 ||
        posix_fallocate(transfer->descriptor, 0, (off_t)owned->mapped) != 0)
        return no_memory(error, transfer->bytes);
    void *memory = mmap(NULL, owned->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, transfer->descriptor, 0);
    if (memory == MAP_FAILED)
        return no_memory(error, transfer->bytes);
    transfer->array.data = memory;
    return PELLUCID_OK;
}

/* Map pages for writing before bytes come, in one call where the kernel can: a fault for each takes far longer. */
static void populate(void *memory, uint64_t bytes) {
    enum { POPULATE_WRITE = 23, PAGE = 4096 };
    uint64_t before = (uintptr_t)memory % PAGE;
    volatile uint8_t *at = memory;
    if (bytes == 0 || madvise((uint8_t *)memory - before, bytes + before, POPULATE_WRITE) == 0)
        return;
    for (uint64_t i = 0; i < bytes; i += PAGE)
        at[i] = at[i];
}

static void touch(const struct transfer *transfer) { populate(transfer->array.data, transfer->bytes); }

static uint64_t checksum(const struct transfer *transfer, const void *bytes, uint64_t length) {
    return transfer->has_checksum ? xxh3(bytes, length) : 0;
}

/* Add the missing pieces as ranges; the number of bytes that are there already. */
static uint64_t spell_missing(const struct transfer *transfer, struct text *text) {
    uint64_t there = 0, start;
    add(text, "\nmissing:%s", transfer->count == 0 ? " " : "");
    for (uint32_t i = 0; i < transfer->count; i++) {
        if (transfer->is_there[i]) {
            there += span(transfer, i, &start);
            continue;
        }
        uint32_t last = i;
        while (last + 1 < transfer->count && !transfer->is_there[last + 1])
            last++;
        add(text, " %" PRIu32 "-%" PRIu32, i, last);
        i = last;
    }
    return there;
}

/* The list of pieces that the other end misses. */
static int read_missing(const struct message *message, const struct transfer *transfer, uint32_t **list,
                        uint32_t *length, pellucid_error *error) {
    size_t text_length = 0;
    const char *at = field(message, "missing", &text_length), *end = at == NULL ? NULL : at + text_length;
    *length = 0;
    *list = malloc(sizeof **list * ((size_t)transfer->count + 1));
    if (*list == NULL)
        return no_memory(error, transfer->count);
    while (at != NULL && at < end) {
        const char *dash = at, *stop;
        uint64_t first, last;
        if (*at == ' ') {
            at++;
            continue;
        }
        while (dash < end && *dash != '-')
            dash++;
        for (stop = dash; stop < end && *stop != ' ';)
            stop++;
        if (dash == end || !read_number(at, dash, &first) || !read_number(dash + 1, stop, &last) || first > last ||
            last >= transfer->count || *length + (last - first) >= transfer->count)
            return against_rules(error, "it misses pieces that do not exist");
        for (uint64_t i = first; i <= last; i++)
            (*list)[(*length)++] = (uint32_t)i;
        at = stop;
    }
    return PELLUCID_OK;
}

/* ---- The lanes -------------------------------------------------------------------------------------------------- */

/* The connections of one transfer. Who connected opens more of them; who listens waits for them. */
struct link {
    struct channel control;
    struct channel streams[MOST_STREAMS];
    int stream_count, wanted_streams;
    struct watch watch;
    int is_shm;
    const struct address *address;
    const char *token;
    pellucid_listener *listener; /* NULL at the end that connects */
};

static int await_stream(struct link *link, const char *transfer, struct channel *channel, pellucid_error *error);

static void link_close(struct link *link) {
    for (int i = 0; i < link->stream_count; i++)
        channel_close(&link->streams[i]);
    link->stream_count = 0;
    channel_close(&link->control);
    watch_end(&link->watch);
}

static int open_streams(struct link *link, const char *transfer, int count, pellucid_error *error) {
    count = count < MOST_STREAMS ? count : MOST_STREAMS;
    while (link->stream_count < count) {
        struct channel *channel = &link->streams[link->stream_count];
        struct message welcome;
        if (link->listener != NULL) {
            TRY(await_stream(link, transfer, channel, error));
        } else {
            TRY(connect_to(link->address, &link->watch, channel, error));
            int code = introduce(channel, link->token, transfer, &welcome, error);
            if (code != PELLUCID_OK) {
                channel_close(channel);
                return code;
            }
            message_free(&welcome);
        }
        link->stream_count++;
    }
    return PELLUCID_OK;
}

/* Work that the threads of all streams share. */
struct work {
    struct link *link;
    struct transfer *transfer;
    const uint32_t *missing;
    uint32_t missing_count;
    uint8_t *memory; /* the receiving end's, on one machine */
    atomic_uint next;
    pthread_mutex_t lock;
    int code;
    pellucid_error error;
    int (*run)(struct work *, struct channel *, pellucid_error *);
};

struct worker {
    struct work *work;
    struct channel *channel;
    pthread_t thread;
};

/* The first failure counts, and makes the others fail too. */
static void give_up(struct work *work, int code, const pellucid_error *error) {
    pthread_mutex_lock(&work->lock);
    if (work->code == PELLUCID_OK) {
        work->code = code;
        work->error = *error;
    }
    pthread_mutex_unlock(&work->lock);
    for (int i = 0; i < work->link->stream_count; i++)
        shutdown(work->link->streams[i].fd, SHUT_RDWR);
}

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    pellucid_error error;
    int code = worker->work->run(worker->work, worker->channel, &error);
    if (code != PELLUCID_OK)
        give_up(worker->work, code, &error);
    return NULL;
}

/* Run so many threads, each on a stream of its own where there are streams. */
static int run_workers(struct work *work, int count, int (*run)(struct work *, struct channel *, pellucid_error *),
                       pellucid_error *error) {
    struct worker workers[MOST_STREAMS];
    int started = 0;
    work->run = run;
    work->code = PELLUCID_OK;
    atomic_init(&work->next, 0);
    pthread_mutex_init(&work->lock, NULL);
    for (; started < count; started++) {
        workers[started].work = work;
        workers[started].channel = started < work->link->stream_count ? &work->link->streams[started] : NULL;
        if (pthread_create(&workers[started].thread, NULL, worker_main, &workers[started]) != 0) {
            pellucid_error none;
            give_up(work, no_memory(&none, 0), &none);
            break;
        }
    }
    for (int i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_mutex_destroy(&work->lock);
    if (work->code != PELLUCID_OK && error != NULL)
        *error = work->error;
    return reason(&work->link->control, work->code, error);
}

static int run_streams(struct work *work, int (*run)(struct work *, struct channel *, pellucid_error *),
                       pellucid_error *error) {
    return run_workers(work, work->link->stream_count, run, error);
}

struct piece_head {
    uint32_t number, length;
    uint64_t checksum;
};

static int send_pieces(struct work *work, struct channel *channel, pellucid_error *error) {
    struct transfer *transfer = work->transfer;
    struct piece_head head = {LAST, 0, 0};
    for (uint32_t i; (i = atomic_fetch_add(&work->next, 1)) < work->missing_count;) {
        uint64_t start, length = span(transfer, work->missing[i], &start);
        const uint8_t *piece = (const uint8_t *)transfer->array.data + start;
        struct piece_head each = {work->missing[i], (uint32_t)length, checksum(transfer, piece, length)};
        TRY(write_bytes(channel, &each, sizeof each, error));
        TRY(write_bytes(channel, piece, length, error));
        TRY(advance(channel->watch, length, error));
    }
    return write_bytes(channel, &head, sizeof head, error);
}

static int receive_pieces(struct work *work, struct channel *channel, pellucid_error *error) {
    struct transfer *transfer = work->transfer;
    for (;;) {
        struct piece_head head;
        uint64_t start;
        TRY(read_bytes(channel, &head, sizeof head, error));
        if (head.number == LAST)
            return PELLUCID_OK;
        if (head.number >= transfer->count || span(transfer, head.number, &start) != head.length)
            return against_rules(error, "it sent more than it announced");
        uint8_t *piece = (uint8_t *)transfer->array.data + start;
        TRY(read_bytes(channel, piece, head.length, error));
        if (checksum(transfer, piece, head.length) == head.checksum) {
            transfer->is_there[head.number] = 1; /* each piece has one writer at a time */
            TRY(advance(channel->watch, head.length, error));
        }
    }
}

/* The receiving end's memory, which came with a message. */
static void *attach(struct channel *control, uint64_t bytes, pellucid_error *error) {
    struct stat status;
    int fd = take_passed_fd(control);
    void *memory = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &status) == 0 && (uint64_t)status.st_size >= bytes)
        memory = mmap(NULL, bytes > 0 ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (memory == MAP_FAILED)
        against_rules(error, "it handed over no memory that fits");
    return memory == MAP_FAILED ? NULL : memory;
}

static int copy_pieces(struct work *work, struct channel *unused, pellucid_error *error) {
    struct transfer *transfer = work->transfer;
    (void)unused;
    for (uint32_t i; (i = atomic_fetch_add(&work->next, 1)) < work->missing_count;) {
        uint64_t start, length = span(transfer, work->missing[i], &start);
        populate(work->memory + start, length);
        memcpy(work->memory + start, (const uint8_t *)transfer->array.data + start, length);
        TRY(advance(&work->link->watch, length, error));
        if (has_news(&work->link->control, 0))
            return broken(error, "the other end went away");
    }
    return PELLUCID_OK;
}

static int send_in_memory(struct link *link, struct transfer *transfer, const uint32_t *missing, uint32_t count,
                          pellucid_error *error) {
    struct work work = {.link = link, .transfer = transfer, .missing = missing, .missing_count = count};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    work.memory = attach(&link->control, transfer->bytes, error);
    if (work.memory == NULL)
        return PELLUCID_PROTOCOL;
    int code = run_workers(&work, cores < 1 ? 1 : cores < 4 ? (int)cores : 4, copy_pieces, error);
    munmap(work.memory, transfer->bytes > 0 ? transfer->bytes : 1);
    return code != PELLUCID_OK ? code : say_word(&link->control, "sent", error);
}

/* ---- Sessions: one transfer, whoever connected ------------------------------------------------------------------ */

/* Send what the other end misses, until it has everything. */
static int send_rounds(struct link *link, struct transfer *transfer, pellucid_report *report, pellucid_error *error) {
    for (int round = 0;; round++) {
        struct message answer;
        uint64_t piece = 0, streams = 1, missing_bytes = 0, start;
        uint32_t *missing = NULL, count = 0;
        TRY(expect(&link->control, "ready", "stored", &answer, error));
        if (is_kind(&answer, "stored")) {
            message_free(&answer);
            return PELLUCID_OK;
        }
        int code = number_field(&answer, "piece", &piece, error);
        if (code == PELLUCID_OK && (piece == 0 || piece > UINT32_MAX))
            code = against_rules(error, "it asked for pieces of an impossible size");
        if (code == PELLUCID_OK) {
            cut(transfer, piece);
            code = read_missing(&answer, transfer, &missing, &count, error);
        }
        if (code == PELLUCID_OK && !link->is_shm)
            code = number_field(&answer, "streams", &streams, error);
        message_free(&answer);
        for (uint32_t i = 0; i < count; i++)
            missing_bytes += span(transfer, missing[i], &start);
        link->watch.done = transfer->bytes - missing_bytes;
        if (round == 0) {
            report->resumed_bytes = transfer->bytes - missing_bytes;
            report->streams = (int)streams;
        }
        if (code == PELLUCID_OK && link->is_shm) {
            code = send_in_memory(link, transfer, missing, count, error);
        } else if (code == PELLUCID_OK) {
            struct work work = {.link = link, .transfer = transfer, .missing = missing, .missing_count = count};
            code = open_streams(link, transfer->number, (int)streams, error);
            code = code == PELLUCID_OK ? run_streams(&work, send_pieces, error) : reason(&link->control, code, error);
        }
        free(missing);
        TRY(code);
    }
}

static void finish_report(const struct link *link, const struct transfer *transfer, double since,
                          pellucid_report *report) {
    snprintf(report->lane, sizeof report->lane, "%s", link->is_shm ? "shm" : "tcp");
    report->bytes = transfer->bytes - report->resumed_bytes;
    report->seconds = now_s() - since;
}

static int deliver(struct link *link, struct transfer *transfer, pellucid_report *report, pellucid_error *error) {
    double since = now_s();
    link->watch.total = transfer->bytes;
    int code = announce(&link->control, transfer, link->is_shm ? "shm" : "tcp", error);
    code = code != PELLUCID_OK ? code : send_rounds(link, transfer, report, error);
    finish_report(link, transfer, since, report);
    return code;
}

static int take_round(struct link *link, struct transfer *transfer, uint64_t *there, pellucid_error *error) {
    struct text head = {0};
    struct message sent;
    add(&head, "ready\npiece: %" PRIu64 "\nstreams: %d", transfer->piece_bytes, link->wanted_streams);
    *there = spell_missing(transfer, &head);
    link->watch.done = *there;
    if (!link->is_shm)
        touch(transfer);
    TRY(say(&link->control, &head, "", 0, link->is_shm ? transfer->descriptor : -1, error));
    if (!link->is_shm) {
        struct work work = {.link = link, .transfer = transfer};
        int code = open_streams(link, transfer->number, link->wanted_streams, error);
        return code == PELLUCID_OK ? run_streams(&work, receive_pieces, error) : reason(&link->control, code, error);
    }
    TRY(expect(&link->control, "sent", NULL, &sent, error));
    message_free(&sent);
    memset(transfer->is_there, 1, transfer->count);
    return advance(&link->watch, transfer->bytes - *there, error);
}

static int is_complete(const struct transfer *transfer) {
    return memchr(transfer->is_there, 0, transfer->count) == NULL;
}

/* Receive an array into prepared memory. */
static int take(struct link *link, struct transfer *transfer, pellucid_report *report, pellucid_error *error) {
    double since = now_s();
    link->watch.total = transfer->bytes;
    for (int round = 0; !is_complete(transfer); round++) {
        uint64_t there = 0;
        if (round == MOST_ROUNDS)
            return against_rules(error, "pieces came wrong again and again");
        int code = take_round(link, transfer, &there, error);
        report->resumed_bytes = round == 0 ? there : report->resumed_bytes;
        TRY(code);
    }
    report->streams = link->is_shm ? 1 : link->wanted_streams;
    finish_report(link, transfer, since, report);
    return say_word(&link->control, "stored", error);
}

/* ---- The end that connects -------------------------------------------------------------------------------------- */

static pellucid_options with_defaults(const pellucid_options *given) {
    pellucid_options options = {0};
    if (given != NULL)
        options = *given;
    options.attempts = options.attempts > 0 ? options.attempts : 4;
    options.streams = options.streams > 0 && options.streams <= MOST_STREAMS ? options.streams : 4;
    options.timeout_s = options.timeout_s > 0 ? options.timeout_s : 60;
    options.limit_bytes = options.limit_bytes > 0 ? options.limit_bytes : (uint64_t)1 << 40;
    return options;
}

static int lane_check(const char *lane, pellucid_error *error) {
    if (lane == NULL || strcmp(lane, "auto") == 0 || strcmp(lane, "shm") == 0 || strcmp(lane, "tcp") == 0)
        return PELLUCID_OK;
    return fail(error, PELLUCID_INVALID, "Choose shm or tcp, or leave it out.", "There is no lane '%.20s'.", lane);
}

/* Go over to a local socket, which memory can be handed through, where both ends are on one machine. */
static int go_local(struct link *link, const struct message *welcome, const char *lane, pellucid_error *error) {
    char here[64], there[64], name[100];
    struct channel local;
    struct message again;
    int must = lane != NULL && strcmp(lane, "shm") == 0;
    machine(here, sizeof here);
    copy_field(welcome, "machine", there, sizeof there);
    copy_field(welcome, "local", name, sizeof name);
    int is_local = here[0] && strcmp(here, there) == 0 && name[0] && connect_locally(name, &link->watch, &local);
    if (!is_local)
        return must ? fail(error, PELLUCID_UNREACHABLE, "Leave the lane out.", "The other end is on another machine.")
                    : PELLUCID_OK;
    channel_close(&link->control);
    link->control = local;
    link->is_shm = 1;
    TRY(introduce(&link->control, link->token, NULL, &again, error));
    message_free(&again);
    return PELLUCID_OK;
}

static int call(struct link *link, const struct address *address, const char *token, const pellucid_options *options,
                pellucid_error *error) {
    struct message welcome;
    memset(link, 0, sizeof *link);
    link->address = address;
    link->token = token;
    link->wanted_streams = options->streams;
    link->control.fd = link->control.passed_fd = -1;
    watch_start(&link->watch, options);
    int code = connect_to(address, &link->watch, &link->control, error);
    if (code == PELLUCID_OK)
        code = introduce(&link->control, token, NULL, &welcome, error);
    if (code == PELLUCID_OK) {
        if (options->lane == NULL || strcmp(options->lane, "tcp") != 0)
            code = go_local(link, &welcome, options->lane, error);
        message_free(&welcome);
    }
    if (code != PELLUCID_OK)
        link_close(link);
    return code;
}

static void pause_s(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static int is_worth_another_try(int code) {
    return code == PELLUCID_BROKEN || code == PELLUCID_UNREACHABLE || code == PELLUCID_BUSY;
}

/* Tell the other end why, where it can still hear it. */
static int told(struct link *link, int code, const pellucid_error *error) {
    if (code != PELLUCID_OK && code != PELLUCID_BROKEN && error != NULL)
        say_refusal(&link->control, error);
    return code;
}

static int attempt_send(const struct address *address, const char *token, struct transfer *transfer,
                        const pellucid_options *options, pellucid_report *report, pellucid_error *error, int *has_begun) {
    struct link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return no_memory(error, sizeof *link);
    int code = call(link, address, token, options, error);
    if (code == PELLUCID_OK) {
        *has_begun = 1;
        code = told(link, deliver(link, transfer, report, error), error);
        link_close(link);
    }
    free(link);
    return code;
}

int pellucid_send(const char *address_text, const char *token, const pellucid_array *array,
                  const pellucid_options *given, pellucid_report *report, pellucid_error *error) {
    pellucid_options options = with_defaults(given);
    pellucid_report unused_report;
    pellucid_error unused_error;
    struct address address;
    struct transfer transfer = {.array = *array, .has_checksum = !options.no_checksum, .descriptor = -1};
    int code = PELLUCID_BROKEN, has_begun = 0;
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    TRY(array_check(array, 1, error));
    TRY(address_read(address_text, &address, error));
    TRY(token_check(token, error));
    TRY(lane_check(options.lane, error));
    TRY(random_hex(16, transfer.number, error));
    transfer.bytes = pellucid_bytes(array);
    for (int attempt = 1; attempt <= options.attempts; attempt++) {
        code = attempt_send(&address, token, &transfer, &options, report, error, &has_begun);
        if (!is_worth_another_try(code) || !has_begun || attempt == options.attempts)
            break;
        pause_s(0.2 * (1 << (attempt < 8 ? attempt : 8)));
    }
    return code;
}

static int request_array(struct link *link, struct transfer *transfer, const char *request,
                         const pellucid_options *options, pellucid_report *report, pellucid_error *error) {
    struct text head = {0};
    struct message announced;
    struct transfer fresh = {.descriptor = -1};
    add(&head, "request\ntransfer: %s\nlane: %s\nchecksum: %s", transfer->number, link->is_shm ? "shm" : "tcp",
        options->no_checksum ? "none" : "xxh3");
    TRY(say(&link->control, &head, request, strlen(request), -1, error));
    TRY(expect(&link->control, "announce", NULL, &announced, error));
    int code = read_announcement(&announced, &fresh, error);
    message_free(&announced);
    if (code == PELLUCID_OK && strcmp(fresh.number, transfer->number) != 0)
        code = against_rules(error, "it sends something else than what was asked for");
    if (code == PELLUCID_OK && fresh.bytes > options->limit_bytes)
        code = too_large(error, fresh.bytes, options->limit_bytes);
    if (code == PELLUCID_OK && transfer->array.data != NULL && transfer->bytes == fresh.bytes) {
        transfer_free(&fresh); /* what arrived before is used again */
    } else if (code == PELLUCID_OK) {
        transfer_free(transfer);
        *transfer = fresh;
        code = prepare(transfer, error);
    } else {
        transfer_free(&fresh);
    }
    return code != PELLUCID_OK ? code : take(link, transfer, report, error);
}

/* Hand a received array over to the caller. */
static void hand_over(struct transfer *transfer, pellucid_array *array) {
    *array = transfer->array;
    memset(&transfer->array, 0, sizeof transfer->array);
    transfer_free(transfer);
}

int pellucid_retrieve(const char *address_text, const char *token, const char *request, const pellucid_options *given,
                      pellucid_array *array, pellucid_report *report, pellucid_error *error) {
    pellucid_options options = with_defaults(given);
    pellucid_report unused_report;
    pellucid_error unused_error;
    struct address address;
    struct transfer transfer = {.descriptor = -1};
    struct link *link = calloc(1, sizeof *link);
    char number[TRANSFER_TEXT];
    int code = link == NULL ? PELLUCID_MEMORY : PELLUCID_OK, has_begun = 0;
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    memset(array, 0, sizeof *array);
    code = code != PELLUCID_OK ? code : address_read(address_text, &address, error);
    code = code != PELLUCID_OK ? code : token_check(token, error);
    code = code != PELLUCID_OK ? code : lane_check(options.lane, error);
    code = code != PELLUCID_OK ? code : random_hex(16, number, error);
    for (int attempt = 1; code == PELLUCID_OK || (has_begun && is_worth_another_try(code)); attempt++) {
        code = call(link, &address, token, &options, error);
        if (code == PELLUCID_OK) {
            has_begun = 1;
            memcpy(transfer.number, number, sizeof number);
            code = request_array(link, &transfer, request != NULL ? request : "{}", &options, report, error);
            told(link, code, error);
            link_close(link);
        }
        if (code == PELLUCID_OK) {
            hand_over(&transfer, array);
            break;
        }
        if (attempt == options.attempts)
            break;
        pause_s(is_worth_another_try(code) ? 0.2 * (1 << (attempt < 8 ? attempt : 8)) : 0);
    }
    transfer_free(&transfer);
    free(link);
    return code;
}

struct pellucid_allocation {
    struct link link;
    struct transfer transfer;
    struct address address;
    char *token;
    pellucid_options options;
    int is_open;
    size_t mapped;
};

/* Announce an array that is not there yet, and get the receiving end's memory for it. */
static int allocate_there(pellucid_allocation *allocation, pellucid_error *error) {
    struct message ready;
    struct link *link = &allocation->link;
    TRY(announce(&link->control, &allocation->transfer, "shm", error));
    TRY(expect(&link->control, "ready", "stored", &ready, error));
    message_free(&ready);
    allocation->transfer.array.data = attach(&link->control, allocation->transfer.bytes, error);
    return allocation->transfer.array.data == NULL ? PELLUCID_PROTOCOL : PELLUCID_OK;
}

int pellucid_allocate(const char *address, const char *token, pellucid_array *array, const pellucid_options *given,
                      pellucid_allocation **result, pellucid_error *error) {
    pellucid_error unused;
    pellucid_allocation *allocation = calloc(1, sizeof *allocation);
    error = error != NULL ? error : &unused;
    *result = NULL;
    if (allocation == NULL)
        return no_memory(error, sizeof *allocation);
    allocation->options = with_defaults(given);
    allocation->token = strdup(token != NULL ? token : "");
    allocation->transfer = (struct transfer){.array = *array, .has_checksum = !allocation->options.no_checksum};
    allocation->transfer.descriptor = -1;
    allocation->transfer.bytes = pellucid_bytes(array);
    allocation->mapped = allocation->transfer.bytes > 0 ? allocation->transfer.bytes : 1;
    int code = array_check(array, 0, error);
    code = code != PELLUCID_OK ? code : address_read(address, &allocation->address, error);
    code = code != PELLUCID_OK ? code : token_check(allocation->token, error);
    code = code != PELLUCID_OK ? code : lane_check(allocation->options.lane, error);
    code = code != PELLUCID_OK ? code : random_hex(16, allocation->transfer.number, error);
    if (code == PELLUCID_OK)
        code = call(&allocation->link, &allocation->address, allocation->token, &allocation->options, error);
    allocation->is_open = code == PELLUCID_OK;
    if (code == PELLUCID_OK && allocation->link.is_shm) {
        code = allocate_there(allocation, error);
    } else if (code == PELLUCID_OK) {
        void *memory = mmap(NULL, allocation->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        allocation->transfer.array.data = memory == MAP_FAILED ? NULL : memory;
        code = memory == MAP_FAILED ? no_memory(error, allocation->mapped) : PELLUCID_OK;
        link_close(&allocation->link); /* filling it may take hours: it is called again then */
        allocation->is_open = 0;
    }
    if (code != PELLUCID_OK) {
        pellucid_abandon(allocation);
        return code;
    }
    array->data = allocation->transfer.array.data;
    *result = allocation;
    return PELLUCID_OK;
}

int pellucid_commit(pellucid_allocation *allocation, pellucid_report *report, pellucid_error *error) {
    pellucid_report unused_report;
    pellucid_error unused_error;
    struct message stored;
    int code, has_begun = 0;
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    if (!allocation->is_open) {
        code = attempt_send(&allocation->address, allocation->token, &allocation->transfer, &allocation->options, report,
                            error, &has_begun);
        pellucid_abandon(allocation);
        return code;
    }
    code = allocation->transfer.bytes > 0 ? say_word(&allocation->link.control, "sent", error) : PELLUCID_OK;
    if (code == PELLUCID_OK && allocation->transfer.bytes > 0) {
        code = expect(&allocation->link.control, "stored", NULL, &stored, error);
        if (code == PELLUCID_OK)
            message_free(&stored);
    }
    snprintf(report->lane, sizeof report->lane, "shm");
    pellucid_abandon(allocation);
    return code;
}

void pellucid_abandon(pellucid_allocation *allocation) {
    if (allocation == NULL)
        return;
    if (allocation->transfer.array.data != NULL)
        munmap(allocation->transfer.array.data, allocation->mapped);
    if (allocation->is_open)
        link_close(&allocation->link);
    free(allocation->token);
    free(allocation);
}

/* ---- Streams ---------------------------------------------------------------------------------------------------- */

struct pellucid_stream {
    struct link link;
    struct transfer transfer;
    struct address address;
    char *token;
    uint8_t *memory; /* the receiving end's, on one machine */
    uint32_t number;
    int unanswered[MOST_STREAMS];
};

struct block_head {
    struct piece_head piece;
    uint32_t start[3], stop[3];
};

static int open_stream(pellucid_stream *stream, const pellucid_options *options, pellucid_error *error) {
    struct message ready;
    uint64_t streams = 0;
    struct link *link = &stream->link;
    TRY(call(link, &stream->address, stream->token, options, error));
    TRY(announce(&link->control, &stream->transfer, link->is_shm ? "shm" : "tcp", error));
    TRY(expect(&link->control, "ready", NULL, &ready, error));
    int code = link->is_shm ? PELLUCID_OK : number_field(&ready, "streams", &streams, error);
    message_free(&ready);
    TRY(code);
    if (!link->is_shm)
        return open_streams(link, stream->transfer.number, (int)streams, error);
    stream->memory = attach(&link->control, stream->transfer.bytes, error);
    return stream->memory == NULL ? PELLUCID_PROTOCOL : PELLUCID_OK;
}

int pellucid_stream_open(const char *address, const char *token, const pellucid_array *volume,
                         const pellucid_options *given, pellucid_stream **result, pellucid_error *error) {
    pellucid_error unused;
    pellucid_options options = with_defaults(given);
    pellucid_stream *stream = calloc(1, sizeof *stream);
    error = error != NULL ? error : &unused;
    *result = NULL;
    if (stream == NULL)
        return no_memory(error, sizeof *stream);
    stream->link.control.fd = stream->link.control.passed_fd = -1;
    stream->token = strdup(token != NULL ? token : "");
    stream->transfer = (struct transfer){.array = *volume, .has_checksum = !options.no_checksum, .is_stream = 1};
    stream->transfer.descriptor = -1;
    stream->transfer.bytes = pellucid_bytes(volume);
    int code = array_check(volume, 0, error);
    if (code == PELLUCID_OK && volume->axes != 3)
        code = fail(error, PELLUCID_INVALID, "Give three axes: z, y, x.", "A stream of %d axes is no volume.", volume->axes);
    code = code != PELLUCID_OK ? code : address_read(address, &stream->address, error);
    code = code != PELLUCID_OK ? code : token_check(stream->token, error);
    code = code != PELLUCID_OK ? code : lane_check(options.lane, error);
    code = code != PELLUCID_OK ? code : random_hex(16, stream->transfer.number, error);
    code = code != PELLUCID_OK ? code : open_stream(stream, &options, error);
    if (code != PELLUCID_OK) {
        pellucid_stream_abandon(stream);
        return code;
    }
    *result = stream;
    return PELLUCID_OK;
}

static int read_answer(pellucid_stream *stream, int which, pellucid_error *error) {
    uint32_t answer[2];
    TRY(read_bytes(&stream->link.streams[which], answer, sizeof answer, error));
    stream->unanswered[which]--;
    return answer[1] == 1 ? PELLUCID_OK : broken(error, "a block was damaged on the way");
}

static int send_block(pellucid_stream *stream, const uint8_t *block, const struct block_head *place,
                      pellucid_error *error) {
    int which = (int)(place->piece.number % (uint32_t)stream->link.stream_count);
    struct channel *channel = &stream->link.streams[which];
    if (stream->unanswered[which] == DEPTH)
        TRY(read_answer(stream, which, error));
    TRY(write_bytes(channel, place, sizeof *place, error));
    TRY(write_bytes(channel, block, place->piece.length, error));
    stream->unanswered[which]++;
    return advance(&stream->link.watch, place->piece.length, error);
}

/* Copy a block into, or out of, the place where it belongs in a volume. */
static void place_block(const pellucid_array *volume, uint8_t *memory, const uint8_t *block, const uint64_t start[3],
                        const uint64_t shape[3]) {
    uint64_t size = TYPES[volume->type].bytes, row = shape[2] * size;
    for (uint64_t z = 0; z < shape[0]; z++)
        for (uint64_t y = 0; y < shape[1]; y++) {
            uint64_t at = ((start[0] + z) * volume->shape[1] + start[1] + y) * volume->shape[2] + start[2];
            memcpy(memory + at * size, block, row);
            block += row;
        }
}

static int write_in_memory(pellucid_stream *stream, const void *block, const uint64_t start[3],
                           const uint64_t shape[3], pellucid_error *error) {
    struct text head = {0};
    struct channel *control = &stream->link.control;
    if (has_news(control, 0))
        return reason(control, broken(error, "the other end went away"), error);
    place_block(&stream->transfer.array, stream->memory, block, start, shape);
    add(&head, "block\nbox:");
    for (int i = 0; i < 3; i++)
        add(&head, " %" PRIu64, start[i]);
    for (int i = 0; i < 3; i++)
        add(&head, " %" PRIu64, start[i] + shape[i]);
    TRY(say(control, &head, "", 0, -1, error));
    return advance(&stream->link.watch, shape[0] * shape[1] * shape[2] * TYPES[stream->transfer.array.type].bytes, error);
}

int pellucid_stream_write(pellucid_stream *stream, const void *block, const uint64_t start[3],
                          const uint64_t shape[3], pellucid_error *error) {
    pellucid_error unused;
    const pellucid_array *volume = &stream->transfer.array;
    uint64_t row = shape[1] * shape[2] * TYPES[volume->type].bytes, most;
    error = error != NULL ? error : &unused;
    for (int i = 0; i < 3; i++)
        if (start[i] > volume->shape[i] || shape[i] > volume->shape[i] - start[i])
            return fail(error, PELLUCID_INVALID, "Check start and shape.", "A block does not fit into the volume.");
    if (row == 0 || shape[0] == 0)
        return PELLUCID_OK;
    if (stream->link.is_shm)
        return write_in_memory(stream, block, start, shape, error);
    most = LARGEST_BLOCK / row;
    if (most == 0)
        return fail(error, PELLUCID_INVALID, "Write parts of it.", "A block has slices of more than 64 MiB.");
    for (uint64_t z = 0; z < shape[0]; z += most) {
        uint64_t count = shape[0] - z < most ? shape[0] - z : most;
        const uint8_t *part = (const uint8_t *)block + z * row;
        struct block_head place = {.start = {(uint32_t)(start[0] + z), (uint32_t)start[1], (uint32_t)start[2]}};
        place.stop[0] = (uint32_t)(start[0] + z + count);
        place.stop[1] = (uint32_t)(start[1] + shape[1]);
        place.stop[2] = (uint32_t)(start[2] + shape[2]);
        place.piece = (struct piece_head){stream->number++, (uint32_t)(count * row),
                                          checksum(&stream->transfer, part, count * row)};
        int code = send_block(stream, part, &place, error);
        if (code != PELLUCID_OK)
            return reason(&stream->link.control, code, error);
    }
    return PELLUCID_OK;
}

static int finish_stream(pellucid_stream *stream, pellucid_error *error) {
    struct block_head last = {.piece = {LAST, 0, 0}};
    struct message stored;
    if (stream->link.is_shm)
        TRY(say_word(&stream->link.control, "finish", error));
    for (int i = 0; i < stream->link.stream_count; i++) {
        while (stream->unanswered[i] > 0)
            TRY(read_answer(stream, i, error));
        TRY(write_bytes(&stream->link.streams[i], &last, sizeof last, error));
    }
    TRY(expect(&stream->link.control, "stored", NULL, &stored, error));
    message_free(&stored);
    return PELLUCID_OK;
}

int pellucid_stream_close(pellucid_stream *stream, pellucid_error *error) {
    pellucid_error unused;
    error = error != NULL ? error : &unused;
    int code = finish_stream(stream, error);
    code = reason(&stream->link.control, code, error);
    pellucid_stream_abandon(stream);
    return code;
}

void pellucid_stream_abandon(pellucid_stream *stream) {
    if (stream == NULL)
        return;
    if (stream->memory != NULL)
        munmap(stream->memory, stream->transfer.bytes > 0 ? stream->transfer.bytes : 1);
    link_close(&stream->link);
    free(stream->token);
    free(stream);
}

/* ---- The end that listens ---------------------------------------------------------------------------------------- */

struct pellucid_listener {
    int sockets[2]; /* TCP and local */
    char address[300], local[64], machine[64];
    char *token;
    pellucid_options options;
    struct watch watch;
    struct channel waiting[MOST_WAITING]; /* control connections whose turn comes later */
    int waiting_count;
    struct transfer partial; /* what is left of a transfer that broke off */
};

static int listen_at(const struct address *address, char *text, size_t room, pellucid_error *error) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    int on = 1, fd = -1;
    if (getaddrinfo(address->host, address->port, &hints, &found) == 0) {
        fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (fd >= 0 && (bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 64) != 0)) {
            close(fd);
            fd = -1;
        }
        freeaddrinfo(found);
    }
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&name, &length) != 0) {
        fail(error, PELLUCID_INVALID, "Choose another port (0 takes a free one), and a name of this machine.",
             "Nobody can listen at %s:%s: %s.", address->host, address->port, strerror(errno));
        return -1;
    }
    unsigned port = ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
                                                     : ((struct sockaddr_in *)&name)->sin_port);
    snprintf(text, room, strchr(address->host, ':') ? "[%s]:%u" : "%s:%u", address->host, port);
    return fd;
}

static int listen_locally(const char *name) {
    struct sockaddr_un local;
    socklen_t length = local_name(name, &local);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&local, length) == 0 && listen(fd, 64) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int pellucid_listen(const char *address_text, const char *token, const pellucid_options *options,
                    pellucid_listener **result, pellucid_error *error) {
    pellucid_error unused;
    struct address address;
    char mark[17];
    error = error != NULL ? error : &unused;
    *result = NULL;
    TRY(address_read(address_text, &address, error));
    TRY(token_check(token, error));
    TRY(random_hex(8, mark, error));
    if (address.pin[0])
        return fail(error, PELLUCID_INVALID, "Listen at host:port.", "This end listens without TLS only.");
    pellucid_listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL)
        return no_memory(error, sizeof *listener);
    listener->options = with_defaults(options);
    listener->token = strdup(token);
    listener->partial.descriptor = -1;
    machine(listener->machine, sizeof listener->machine);
    snprintf(listener->local, sizeof listener->local, "pellucid-%s", mark);
    listener->sockets[1] = listen_locally(listener->local);
    listener->sockets[0] = listen_at(&address, listener->address, sizeof listener->address, error);
    watch_start(&listener->watch, &listener->options);
    if (listener->sockets[0] < 0 || listener->token == NULL) {
        pellucid_listener_close(listener);
        return PELLUCID_INVALID;
    }
    *result = listener;
    return PELLUCID_OK;
}

const char *pellucid_listener_address(const pellucid_listener *listener) { return listener->address; }

void pellucid_listener_close(pellucid_listener *listener) {
    if (listener == NULL)
        return;
    for (int i = 0; i < 2; i++)
        if (listener->sockets[i] >= 0)
            close(listener->sockets[i]);
    for (int i = 0; i < listener->waiting_count; i++)
        channel_close(&listener->waiting[i]);
    transfer_free(&listener->partial);
    watch_end(&listener->watch);
    free(listener->token);
    free(listener);
}

/* The listening end's part of the handshake. transfer: which one a stream belongs to; empty for a control connection. */
static int admit(pellucid_listener *listener, struct channel *channel, char transfer[TRANSFER_TEXT],
                 pellucid_error *error) {
    char ours[NONCE_TEXT], theirs[80], shown[80], proof[NONCE_TEXT], role[16];
    struct message opening;
    struct text head = {0};
    TRY(random_hex(32, ours, error));
    add(&head, "pellucid-transfer\nversion: 1\nnonce: %s", ours);
    TRY(say(channel, &head, "", 0, -1, error));
    TRY(hear(channel, &opening, 0, error));
    copy_field(&opening, "nonce", theirs, sizeof theirs);
    copy_field(&opening, "proof", shown, sizeof shown);
    copy_field(&opening, "role", role, sizeof role);
    copy_field(&opening, "transfer", transfer, TRANSFER_TEXT);
    message_free(&opening);
    prove(listener->token, "connect", ours, theirs, proof);
    if (!same_secret(shown, proof)) {
        int code = wrong_token(error, "The receiving end");
        say_refusal(channel, error);
        return code;
    }
    prove(listener->token, "listen", ours, theirs, proof);
    add(&head, "welcome\nproof: %s\nlanes: shm tcp\nmachine: %s\nlocal: %s", proof, listener->machine, listener->local);
    if (strcmp(role, "stream") != 0)
        transfer[0] = 0;
    return say(channel, &head, "", 0, -1, error);
}

/* Accept one connection that shows the token; PELLUCID_TIMEOUT where none comes within a turn. Strangers are let go. */
static int accept_one(pellucid_listener *listener, struct channel *channel, char transfer[TRANSFER_TEXT],
                      pellucid_error *error) {
    struct pollfd waiting[2] = {{listener->sockets[0], POLLIN, 0}, {listener->sockets[1], POLLIN, 0}};
    pellucid_error ignored;
    if (poll(waiting, 2, POLL_MS) > 0)
        for (int i = 0; i < 2; i++) {
            int fd = waiting[i].revents & POLLIN ? accept4(waiting[i].fd, NULL, NULL, SOCK_CLOEXEC) : -1;
            if (fd < 0)
                continue;
            double timeout_s = listener->watch.timeout_s;
            channel_start(channel, fd, &listener->watch);
            listener->watch.timeout_s = HANDSHAKE_S;
            int code = admit(listener, channel, transfer, &ignored);
            listener->watch.timeout_s = timeout_s;
            if (code == PELLUCID_OK)
                return PELLUCID_OK;
            channel_close(channel);
        }
    TRY(advance(&listener->watch, 0, error));
    return fail(error, PELLUCID_TIMEOUT, "Check the sender.", "Nothing arrived in time.");
}

/* A control connection that came while another transfer is under way waits for its turn. */
static void put_off(pellucid_listener *listener, struct channel *channel) {
    if (listener->waiting_count < MOST_WAITING)
        listener->waiting[listener->waiting_count++] = *channel;
    else
        channel_close(channel);
}

static int await_stream(struct link *link, const char *transfer, struct channel *channel, pellucid_error *error) {
    double since = now_s();
    while (now_s() - since < link->watch.timeout_s) {
        char joined[TRANSFER_TEXT];
        if (has_news(&link->control, 0))
            return broken(error, "the other end went away before it sent anything");
        int code = accept_one(link->listener, channel, joined, error);
        if (code == PELLUCID_TIMEOUT)
            continue;
        TRY(code);
        if (strcmp(joined, transfer) == 0) {
            channel->watch = &link->watch;
            return PELLUCID_OK;
        }
        if (joined[0] == 0)
            put_off(link->listener, channel);
        else
            channel_close(channel);
    }
    return broken(error, "the other end opened no connection for its pieces");
}

static int next_control(pellucid_listener *listener, double until, struct channel *channel, pellucid_error *error) {
    char transfer[TRANSFER_TEXT];
    if (listener->waiting_count > 0) {
        *channel = listener->waiting[0];
        memmove(listener->waiting, listener->waiting + 1, sizeof *channel * (size_t)--listener->waiting_count);
        return PELLUCID_OK;
    }
    for (;;) {
        int code = accept_one(listener, channel, transfer, error);
        if (code == PELLUCID_OK && transfer[0] == 0)
            return PELLUCID_OK;
        if (code == PELLUCID_OK)
            channel_close(channel); /* a stream of a transfer that is over */
        else if (code != PELLUCID_TIMEOUT || (until >= 0 && now_s() > until))
            return code;
    }
}

static int checked_block(const struct transfer *transfer, const struct block_head *head, uint64_t start[3],
                         uint64_t shape[3], pellucid_error *error) {
    uint64_t bytes = TYPES[transfer->array.type].bytes;
    for (int i = 0; i < 3; i++) {
        if (head->start[i] > head->stop[i] || head->stop[i] > transfer->array.shape[i])
            return against_rules(error, "it sent a block that does not fit");
        start[i] = head->start[i];
        shape[i] = head->stop[i] - head->start[i];
        bytes *= shape[i];
    }
    if (bytes != head->piece.length || bytes > LARGEST_BLOCK)
        return against_rules(error, "it sent a block of another size than it said");
    return PELLUCID_OK;
}

static int receive_blocks(struct work *work, struct channel *channel, pellucid_error *error) {
    struct transfer *transfer = work->transfer;
    uint8_t *block = malloc(LARGEST_BLOCK);
    int code = block == NULL ? no_memory(error, LARGEST_BLOCK) : PELLUCID_OK;
    while (code == PELLUCID_OK) {
        struct block_head head;
        uint64_t start[3], shape[3];
        code = move(channel, &head, sizeof head, 0, 1, error);
        if (code != PELLUCID_OK || head.piece.number == LAST)
            break;
        code = checked_block(transfer, &head, start, shape, error);
        code = code != PELLUCID_OK ? code : read_bytes(channel, block, head.piece.length, error);
        if (code != PELLUCID_OK)
            break;
        uint32_t answer[2] = {head.piece.number, checksum(transfer, block, head.piece.length) == head.piece.checksum};
        if (answer[1])
            place_block(&transfer->array, transfer->array.data, block, start, shape);
        code = write_bytes(channel, answer, sizeof answer, error);
        code = code != PELLUCID_OK ? code : advance(channel->watch, head.piece.length, error);
    }
    free(block);
    return code;
}

static int take_stream(struct link *link, struct transfer *transfer, pellucid_report *report, pellucid_error *error) {
    double since = now_s();
    struct text head = {0};
    struct message message;
    link->watch.total = transfer->bytes;
    add(&head, "ready\nstreams: %d", link->wanted_streams);
    if (!link->is_shm)
        touch(transfer);
    TRY(say(&link->control, &head, "", 0, link->is_shm ? transfer->descriptor : -1, error));
    if (link->is_shm) {
        for (int is_over = 0; !is_over; message_free(&message)) {
            TRY(expect(&link->control, "block", "finish", &message, error));
            is_over = is_kind(&message, "finish");
        }
    } else {
        struct work work = {.link = link, .transfer = transfer};
        TRY(open_streams(link, transfer->number, link->wanted_streams, error));
        TRY(run_streams(&work, receive_blocks, error));
    }
    finish_report(link, transfer, since, report);
    return say_word(&link->control, "stored", error);
}

/* What is there of this very transfer, or memory for a new one. */
static int find_memory(pellucid_listener *listener, struct transfer *transfer, pellucid_error *error) {
    struct transfer *partial = &listener->partial;
    int is_same = partial->array.data != NULL && strcmp(partial->number, transfer->number) == 0 &&
                  partial->bytes == transfer->bytes && partial->array.type == transfer->array.type;
    if (is_same) {
        struct transfer kept = *partial;
        transfer_free(transfer);
        *transfer = kept;
        memset(partial, 0, sizeof *partial);
        partial->descriptor = -1;
        return PELLUCID_OK;
    }
    transfer_free(partial);
    return prepare(transfer, error);
}

static int converse(pellucid_listener *listener, struct link *link, struct transfer *transfer, pellucid_report *report,
                    pellucid_error *error) {
    struct message announced;
    char lane[8];
    TRY(expect(&link->control, "announce", "request", &announced, error));
    int code = is_kind(&announced, "announce") ? read_announcement(&announced, transfer, error)
                                               : fail(error, PELLUCID_REFUSED, "Ask a running instance.",
                                                      "Nothing can be retrieved here.");
    copy_field(&announced, "lane", lane, sizeof lane);
    message_free(&announced);
    TRY(code);
    link->is_shm = strcmp(lane, "shm") == 0;
    if (strcmp(lane, "tcp") != 0 && !(link->is_shm && link->control.is_local))
        return fail(error, PELLUCID_REFUSED, "Choose tcp.", "This end has no lane '%s' for that.", lane);
    if (transfer->bytes > listener->options.limit_bytes)
        return too_large(error, transfer->bytes, listener->options.limit_bytes);
    TRY(find_memory(listener, transfer, error));
    return transfer->is_stream ? take_stream(link, transfer, report, error) : take(link, transfer, report, error);
}

static int serve_one(pellucid_listener *listener, double until, struct link *link, pellucid_array *array,
                     pellucid_report *report, pellucid_error *error) {
    struct transfer transfer = {.descriptor = -1};
    memset(link, 0, sizeof *link);
    TRY(next_control(listener, until, &link->control, error));
    link->listener = listener;
    link->wanted_streams = listener->options.streams;
    watch_start(&link->watch, &listener->options);
    link->control.watch = &link->watch;
    int code = converse(listener, link, &transfer, report, error);
    told(link, code, error);
    link_close(link);
    if (code == PELLUCID_OK) {
        hand_over(&transfer, array);
        return PELLUCID_OK;
    }
    if (code == PELLUCID_BROKEN && transfer.array.data != NULL)
        listener->partial = transfer;
    else
        transfer_free(&transfer);
    /* One sender's failure is not the listener's: the next one may do better. */
    return code == PELLUCID_CANCELLED && link->watch.is_cancelled ? code : PELLUCID_BROKEN;
}

int pellucid_receive(pellucid_listener *listener, double timeout_s, pellucid_array *array, pellucid_report *report,
                     pellucid_error *error) {
    pellucid_report unused_report;
    pellucid_error unused_error;
    double until = timeout_s < 0 ? -1 : now_s() + timeout_s;
    struct link *link = malloc(sizeof *link);
    int code = PELLUCID_BROKEN;
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(array, 0, sizeof *array);
    if (link == NULL)
        return no_memory(error, sizeof *link);
    while (code == PELLUCID_BROKEN) {
        memset(report, 0, sizeof *report);
        code = serve_one(listener, until, link, array, report, error);
    }
    free(link);
    return code;
}

/* ---- Viewers, over HTTP ------------------------------------------------------------------------------------------- */

struct pellucid_viewer {
    struct address address;
    char prefix[256];
    char *token;
    pellucid_options options;
    struct watch watch;
};

enum { HTTP_PIECE = 32 << 20, LONGEST_HTTP_HEAD = 64 * 1024 };

/* The body of an answer. */
struct answer {
    char *body;
    size_t length;
};

/* The text behind a key of a JSON object, unescaped; NULL where there is none, or it is no text. To be freed. */
static char *json_text(const char *json, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *at = strstr(json, quoted);
    at = at == NULL ? NULL : at + strlen(quoted);
    while (at != NULL && (*at == ' ' || *at == ':'))
        at++;
    if (at == NULL || *at != '"')
        return NULL;
    char *text = malloc(strlen(at)), *to = text;
    for (at++; text != NULL && *at != 0 && *at != '"'; at++) {
        unsigned code = 0;
        if (*at != '\\') {
            *to++ = *at;
        } else if (*++at == 'u' && sscanf(at + 1, "%4x", &code) == 1) {
            /* Above 127 in two or three bytes of UTF-8, which is never more than the six that it is written with. */
            if (code >= 0x800)
                *to++ = (char)(0xE0 | code >> 12);
            if (code >= 0x80)
                *to++ = (char)(code >= 0x800 ? 0x80 | (code >> 6 & 0x3F) : 0xC0 | code >> 6);
            *to++ = (char)(code >= 0x80 ? 0x80 | (code & 0x3F) : code);
            at += 4;
        } else if (*at == 0) {
            break;
        } else {
            *to++ = *at == 'n' ? '\n' : *at == 't' ? '\t' : *at;
        }
    }
    if (text != NULL)
        *to = 0;
    return text;
}

/* A text as JSON, between quotation marks. */
static void add_json(struct text *text, const char *value) {
    add(text, "\"");
    for (const unsigned char *at = (const unsigned char *)(value != NULL ? value : ""); *at; at++)
        add(text, *at == '"' || *at == '\\' ? "\\%c" : *at < 32 ? "\\u%04x" : "%c", *at);
    add(text, "\"");
}

/* A text as part of a query. */
static void add_query(struct text *text, const char *value) {
    for (const unsigned char *at = (const unsigned char *)value; *at; at++)
        add(text, isalnum(*at) || strchr("-_.~", *at) != NULL ? "%c" : "%%%02X", *at);
}

/* Take the sizes out from between chunks; the length that is left. */
static size_t join_chunks(char *body, size_t length) {
    size_t from = 0, to = 0;
    while (from < length) {
        char *end;
        size_t size = strtoul(body + from, &end, 16);
        end = memchr(end, '\n', length - (size_t)(end - body));
        if (end == NULL || size == 0 || size > length - (size_t)(end + 1 - body))
            break;
        from = (size_t)(end + 1 - body);
        memmove(body + to, body + from, size);
        to += size;
        from += size + 2;
    }
    body[to] = 0;
    return to;
}

/* Everything up to the end of the connection. */
static int read_all(struct channel *channel, struct answer *answer, pellucid_error *error) {
    size_t room = 0;
    double since = now_s();
    for (;;) {
        if (answer->length + 1 >= room) {
            room = room == 0 ? 1 << 16 : 2 * room;
            char *larger = realloc(answer->body, room);
            if (larger == NULL)
                return no_memory(error, room);
            answer->body = larger;
        }
        ssize_t got = some(channel, answer->body + answer->length, room - answer->length - 1, 0);
        if (got == 0) {
            answer->body[answer->length] = 0;
            return PELLUCID_OK;
        }
        if (got > 0) {
            answer->length += (size_t)got;
            since = now_s();
        } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
            return broken(error, strerror(errno));
        } else {
            TRY(advance(channel->watch, 0, error));
            if (now_s() - since > channel->watch->timeout_s)
                return broken(error, "the viewer did not answer in time");
        }
    }
}

/* The refusal that a viewer's answer stands for. */
static int viewer_refusal(int status, const char *body, pellucid_error *error) {
    char *what = json_text(body, "what"), *remedy = json_text(body, "do"), *kind = json_text(body, "kind");
    int code = status == 403 && what == NULL ? PELLUCID_TOKEN : kind != NULL ? code_of(kind) : PELLUCID_REFUSED;
    if (what != NULL)
        fail(error, code, remedy != NULL ? remedy : "", "%s", what);
    else if (status == 403)
        fail(error, code, "Give the whole address; it changes every time that a viewer is started.",
             "The viewer does not know this token.");
    else
        fail(error, code, "Check that the address is a viewer's.", "The viewer answered with status %d.", status);
    free(what);
    free(remedy);
    free(kind);
    return code;
}

/* Take the head off an answer. */
static int read_answer_head(struct answer *answer, pellucid_error *error) {
    char *end = strstr(answer->body, "\r\n\r\n");
    int status = 0;
    if (end == NULL || sscanf(answer->body, "HTTP/1.%*d %d", &status) != 1)
        return against_rules(error, "it does not speak HTTP");
    *end = 0;
    int is_chunked = strcasestr(answer->body, "transfer-encoding: chunked") != NULL;
    answer->length -= (size_t)(end + 4 - answer->body);
    memmove(answer->body, end + 4, answer->length + 1);
    if (is_chunked)
        answer->length = join_chunks(answer->body, answer->length);
    return status < 400 ? PELLUCID_OK : viewer_refusal(status, answer->body, error);
}

/* One request. answer: to be freed by the caller where it succeeds; or NULL. */
static int request(pellucid_viewer *viewer, const char *method, const char *path, const void *body, size_t length,
                   struct answer *answer, pellucid_error *error) {
    struct channel channel;
    struct text head = {0};
    struct answer unused = {0}, *into = answer != NULL ? answer : &unused;
    memset(into, 0, sizeof *into);
    TRY(connect_to(&viewer->address, &viewer->watch, &channel, error));
    add(&head, "%s %s%s HTTP/1.1\r\nHost: %s:%s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n", method,
        viewer->prefix, path, viewer->address.host, viewer->address.port, viewer->token);
    add(&head, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n", length);
    int code = head.is_lost ? no_memory(error, length) : write_bytes(&channel, head.at, head.length, error);
    code = code != PELLUCID_OK ? code : write_bytes(&channel, body, length, error);
    code = code != PELLUCID_OK ? code : read_all(&channel, into, error);
    code = code != PELLUCID_OK ? code : read_answer_head(into, error);
    free(head.at);
    channel_close(&channel);
    if (code != PELLUCID_OK || answer == NULL) {
        free(into->body);
        into->body = NULL;
    }
    return code;
}

static int request_text(pellucid_viewer *viewer, const char *method, const char *path, struct text *body,
                        struct answer *answer, pellucid_error *error) {
    int code = body->is_lost ? no_memory(error, body->length)
                             : request(viewer, method, path, body->at, body->length, answer, error);
    free(body->at);
    return code;
}

/* "http://host:port/prefix/?token=..." */
static int read_url(const char *url, pellucid_viewer *viewer, pellucid_error *error) {
    const char *rest = url != NULL && strncmp(url, "http://", 7) == 0 ? url + 7 : "";
    const char *slash = strchr(rest, '/'), *query = strchr(rest, '?');
    const char *token = query != NULL ? strstr(query, "token=") : NULL;
    size_t prefix = slash != NULL && query > slash ? (size_t)(query - slash) : 0;
    char place[300];
    while (prefix > 0 && slash[prefix - 1] == '/')
        prefix--;
    if (token == NULL || slash == NULL || (size_t)(slash - rest) > sizeof place - 4 || prefix >= sizeof viewer->prefix)
        return fail(error, PELLUCID_INVALID, "Give all of it, with ?token= and what follows.",
                    "This is no http address of a viewer.");
    snprintf(place, sizeof place, "%.*s", (int)(slash - rest), rest);
    if (strchr(place, ':') == NULL)
        strcat(place, ":80");
    memcpy(viewer->prefix, slash, prefix);
    viewer->token = strndup(token + 6, strcspn(token + 6, "&#"));
    if (viewer->token == NULL)
        return no_memory(error, 0);
    return address_read(place, &viewer->address, error);
}

int pellucid_viewer_connect(const char *url, const pellucid_options *given, pellucid_viewer **result,
                            pellucid_error *error) {
    pellucid_error unused;
    pellucid_viewer *viewer = calloc(1, sizeof *viewer);
    error = error != NULL ? error : &unused;
    *result = NULL;
    if (viewer == NULL)
        return no_memory(error, sizeof *viewer);
    viewer->options = with_defaults(given);
    if (given == NULL || given->timeout_s <= 0)
        viewer->options.timeout_s = 600;
    watch_start(&viewer->watch, &viewer->options);
    int code = read_url(url, viewer, error);
    code = code != PELLUCID_OK ? code : request(viewer, "GET", "/api/about", "", 0, NULL, error);
    if (code != PELLUCID_OK) {
        pellucid_viewer_close(viewer);
        return code;
    }
    *result = viewer;
    return PELLUCID_OK;
}

void pellucid_viewer_close(pellucid_viewer *viewer) {
    if (viewer == NULL)
        return;
    watch_end(&viewer->watch);
    free(viewer->token);
    free(viewer);
}

int pellucid_viewer_query(pellucid_viewer *viewer, char **json, pellucid_error *error) {
    struct answer answer;
    *json = NULL;
    TRY(request(viewer, "GET", "/api/scene", "", 0, &answer, error));
    *json = answer.body;
    return PELLUCID_OK;
}

int pellucid_viewer_shutdown(pellucid_viewer *viewer, pellucid_error *error) {
    return request(viewer, "POST", "/api/shutdown", "", 0, NULL, error);
}

int pellucid_viewer_load(pellucid_viewer *viewer, const char *path, const char *how, pellucid_error *error) {
    struct text body = {0};
    add(&body, "{\"path\": ");
    add_json(&body, path);
    add(&body, ", \"how\": ");
    add_json(&body, how != NULL ? how : "replace");
    add(&body, "}");
    return request_text(viewer, "POST", "/api/load", &body, NULL, error);
}

static void add_offer(struct text *body, const pellucid_array *volume, const char *how) {
    const uint64_t *shape = volume->shape;
    add(body, "{\"shape\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "], \"dtype\": \"%s\", \"name\": ", shape[0], shape[1],
        shape[2], TYPES[volume->type].wire);
    add_json(body, volume->name);
    add(body, ", \"unit\": ");
    add_json(body, volume->unit);
    add(body, ", \"how\": ");
    add_json(body, how != NULL ? how : "replace");
    if (volume->spacing[0] != 0)
        add(body, ", \"spacing\": [%.17g, %.17g, %.17g]", volume->spacing[0], volume->spacing[1], volume->spacing[2]);
    add(body, "}");
}

int pellucid_viewer_render_volume(pellucid_viewer *viewer, const pellucid_array *volume, const char *how,
                                  pellucid_error *error) {
    pellucid_error unused;
    struct text body = {0};
    struct answer answer;
    char path[128];
    uint64_t bytes = pellucid_bytes(volume);
    error = error != NULL ? error : &unused;
    TRY(array_check(volume, 1, error));
    if (volume->axes != 3)
        return fail(error, PELLUCID_INVALID, "Give three axes: z, y, x.", "An array of %d axes is no volume.", volume->axes);
    add_offer(&body, volume, how);
    TRY(request_text(viewer, "POST", "/api/arrays", &body, &answer, error));
    char *id = json_text(answer.body, "id");
    free(answer.body);
    if (id == NULL || strlen(id) > 64) {
        free(id);
        return against_rules(error, "it gave no place for the array");
    }
    viewer->watch.done = 0;
    viewer->watch.total = bytes;
    int code = PELLUCID_OK;
    for (uint64_t offset = 0; offset < bytes && code == PELLUCID_OK; offset += HTTP_PIECE) {
        size_t length = bytes - offset < HTTP_PIECE ? (size_t)(bytes - offset) : HTTP_PIECE;
        snprintf(path, sizeof path, "/api/arrays/%s?offset=%" PRIu64, id, offset);
        code = request(viewer, "PUT", path, (const uint8_t *)volume->data + offset, length, NULL, error);
        code = code != PELLUCID_OK ? code : advance(&viewer->watch, length, error);
    }
    snprintf(path, sizeof path, "/api/arrays/%s/show", id);
    code = code != PELLUCID_OK ? code : request(viewer, "POST", path, "", 0, NULL, error);
    free(id);
    return code;
}

int pellucid_viewer_render_points(pellucid_viewer *viewer, const float (*positions)[3], const float *values,
                                  size_t count, const char *how, pellucid_error *error) {
    /* A .npy file of (x, y, z, value) rows: its head is padded to 128 bytes. */
    enum { HEAD = 128 };
    size_t length = HEAD + count * 4 * sizeof(float);
    uint8_t *file = calloc(1, length);
    char mark[17], path[64];
    struct answer answer = {0};
    if (file == NULL)
        return no_memory(error, length);
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    int end = snprintf((char *)file + 10, HEAD - 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, 4), }", count);
    memset(file + 10 + end, ' ', (size_t)(HEAD - 11 - end));
    file[HEAD - 1] = '\n';
    for (size_t i = 0; i < count; i++) {
        float row[4] = {positions[i][0], positions[i][1], positions[i][2], values[i]};
        memcpy(file + HEAD + i * sizeof row, row, sizeof row);
    }
    int code = random_hex(8, mark, error);
    snprintf(path, sizeof path, "/api/upload?name=points-%s.npy", mark);
    code = code != PELLUCID_OK ? code : request(viewer, "PUT", path, file, length, &answer, error);
    free(file);
    if (code == PELLUCID_OK) {
        char *place = json_text(answer.body, "path");
        code = place == NULL ? against_rules(error, "it gave no path") : pellucid_viewer_load(viewer, place, how, error);
        free(place);
        free(answer.body);
    }
    return code;
}

int pellucid_viewer_screenshot(pellucid_viewer *viewer, int width, int height, uint8_t *rgba, pellucid_error *error) {
    char path[128];
    struct answer answer;
    snprintf(path, sizeof path, "/api/screenshot?width=%d&height=%d&format=raw", width, height);
    TRY(request(viewer, "GET", path, "", 0, &answer, error));
    int is_right = answer.length == (size_t)width * (size_t)height * 4;
    if (is_right)
        memcpy(rgba, answer.body, answer.length);
    free(answer.body);
    return is_right ? PELLUCID_OK : against_rules(error, "its picture has another size");
}

/* Shape and type from the head of a .npy file; the offset of its voxels, or 0. */
static size_t read_npy_head(const struct answer *answer, pellucid_array *array) {
    const uint8_t *bytes = (const uint8_t *)answer->body;
    if (answer->length < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return 0;
    size_t start = bytes[6] == 1 ? 10 : 12;
    size_t end = start + (bytes[6] == 1 ? (size_t)(bytes[8] | bytes[9] << 8) : word32(bytes + 8));
    const char *type = strstr(answer->body + start, "'descr': '"), *shape = strstr(answer->body + start, "'shape': (");
    if (end > answer->length || type == NULL || shape == NULL)
        return 0;
    int found = TYPE_COUNT - 1;
    while (found >= 0 && strncmp(type + 10, TYPES[found].wire, strlen(TYPES[found].wire)) != 0)
        found--;
    array->axes = 3;
    array->type = (pellucid_type)(found < 0 ? 0 : found);
    if (found < 0 || sscanf(shape + 10, "%" SCNu64 ", %" SCNu64 ", %" SCNu64, &array->shape[0], &array->shape[1],
                            &array->shape[2]) != 3)
        return 0;
    return pellucid_bytes(array) == answer->length - end ? end : 0;
}

int pellucid_viewer_retrieve_volume(pellucid_viewer *viewer, int layer, const uint64_t start[3],
                                    const uint64_t stop[3], pellucid_array *volume, pellucid_error *error) {
    struct text path = {0};
    struct answer answer;
    struct owned *owned = calloc(1, sizeof *owned);
    memset(volume, 0, sizeof *volume);
    add(&path, "/api/volume?layer=%d&box=", layer);
    for (int i = 0; i < 3 && start != NULL && stop != NULL; i++) {
        char range[64];
        snprintf(range, sizeof range, "%" PRIu64 ":%" PRIu64 "%s", start[i], stop[i], i < 2 ? "," : "");
        add_query(&path, range);
    }
    int code = owned == NULL || path.is_lost ? no_memory(error, 0)
                                             : request(viewer, "GET", path.at, "", 0, &answer, error);
    free(path.at);
    if (code != PELLUCID_OK) {
        free(owned);
        return code;
    }
    size_t offset = read_npy_head(&answer, volume);
    owned->mapped = offset > 0 && pellucid_bytes(volume) > 0 ? pellucid_bytes(volume) : 1;
    void *memory = mmap(NULL, owned->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volume->data = memory == MAP_FAILED ? NULL : memory;
    volume->owned = owned;
    if (offset > 0 && volume->data != NULL)
        memcpy(volume->data, answer.body + offset, pellucid_bytes(volume));
    free(answer.body);
    if (offset > 0 && volume->data != NULL)
        return PELLUCID_OK;
    pellucid_free(volume);
    return against_rules(error, "its voxels are no .npy file of three axes in C order");
}
