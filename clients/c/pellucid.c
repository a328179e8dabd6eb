/* The C API of Pellucid: see pellucid.h for what it does, docs/decisions/0008-transfers.md for the bytes on the wire.
 *
 *     Errors and text                     codes, sentences, random numbers, numbers as text
 *     SHA-256 and its keyed form          the proof of the token, and pins of certificates
 *     XXH3                                the checksum of a piece
 *     Libraries                           libssl and libucp, loaded where they are
 *     Channels                            one connection, with or without TLS, in turns that notice a cancel
 *     Channels through a web server       the same in frames of a WebSocket
 *     Messages                            what two ends say to each other
 *     Addresses and the handshake         connecting, pinned certificates, who holds the token
 *     What is sent, and its pieces        announcements, memory, missing pieces
 *     The lanes                           several TCP connections, shared memory
 *     The lane through UCX
 *     Sessions                            one transfer, whoever connected
 *     The end that connects               send, retrieve, allocate
 *     Streams                             blocks of a volume while it is made
 *     The end that listens                strangers at the door, receive
 *     JSON, HTTP and https                requests and answers
 *     The agent                           found, or started; a viewer asked for
 *     Viewers, and what they show
 *
 * Nothing that the other end says is believed: lengths are bounded before memory is asked for, products are checked,
 * and what was not announced ends the transfer. tests/clients has ends that mean ill.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pellucid.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "This code is for little-endian machines."
#endif

enum {
    POLL_MS = 200,
    LONGEST_HEAD = 64 * 1024,
    LONGEST_BODY = 128 * 1024,
    SMALLEST_PIECE = 1 << 19, /* still in the cache of a core when its checksum is computed */
    MOST_PIECES = 8192,
    MOST_STREAMS = 64,
    MOST_ROUNDS = 4,
    MOST_WAITING = 16,
    HANDSHAKE_S = 10,
    CONNECT_S = 10,
    LARGEST_BLOCK = 64 << 20,
    LARGEST_PART = 16 << 20,
    MOST_STRANGERS = 32,
    LONGEST_OPENING = 4096,
    NONCE_TEXT = 65,
    TRANSFER_TEXT = 33,
    LONGEST_NAME = 1024,
    NPY_HEAD = 128
};
static const uint32_t LAST = 0xFFFFFFFFu;

#define TRY(call)                 \
    do {                          \
        int code_ = (call);       \
        if (code_ != PELLUCID_OK) \
            return code_;         \
    } while (0)

/* ---- Errors and text --------------------------------------------------------------------------------------------- */

static int fail(pellucid_error *error, int code, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What another end says may be shown in a terminal: nothing in it moves the cursor. */
static void make_printable(char *text) {
    for (; *text; text++)
        *text = (unsigned char)*text < 32 || *text == 127 ? ' ' : *text;
}

static int fail(pellucid_error *error, int code, const char *remedy, const char *format, ...) {
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->what, sizeof error->what, format, arguments);
        va_end(arguments);
        snprintf(error->remedy, sizeof error->remedy, "%s", remedy);
        make_printable(error->what);
        make_printable(error->remedy);
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
    return fail(error, PELLUCID_MEMORY, "Send a part of it, or free memory.",
                "There is no memory for %" PRIu64 " bytes.", bytes);
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

/* So many random bytes (at most 32), as text. */
static int random_hex(size_t count, char *text, pellucid_error *error) {
    uint8_t bytes[32];
    ssize_t got;
    do
        got = getrandom(bytes, count, 0);
    while (got < 0 && errno == EINTR);
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

/* Numbers are written with a point, whatever the language of the program is. */
static locale_t plain_locale;
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;

static void make_plain(void) { plain_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); }

static locale_t speak_plainly(void) {
    pthread_once(&plain_once, make_plain);
    return uselocale(plain_locale);
}

/* ---- SHA-256 and its keyed form: the proof of the token ---------------------------------------------------------- */

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
        words[i] =
            words[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + words[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
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

/* ---- XXH3, 64 bits, seed 0: the checksum of a piece -------------------------------------------------------------- */

static const uint64_t P32_1 = 0x9E3779B1u, P32_2 = 0x85EBCA77u, P32_3 = 0xC2B2AE3Du;
static const uint64_t P64_1 = 0x9E3779B185EBCA87u, P64_2 = 0xC2B2AE3D27D4EB4Fu, P64_3 = 0x165667B19E3779F9u,
                      P64_4 = 0x85EBCA77C2B2AE63u, P64_5 = 0x27D4EB2F165667C5u;
static const uint64_t MIX_1 = 0x165667919E3779F9u, MIX_2 = 0x9FB21C651E98DF25u;

static const uint8_t SECRET[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4,
    0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e,
    0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43,
    0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb,
    0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19,
    0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7,
    0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78,
    0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16,
    0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};

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
    return length <= 16    ? hash_short(content, length)
           : length <= 240 ? hash_medium(content, length)
                           : hash_long(content, length);
}

/* ---- Libraries that are loaded when they are there: libssl (TLS, https) and libucp (RDMA) ------------------------ */

static void *symbol(void *library, const char *name) { return library == NULL ? NULL : dlsym(library, name); }

/* dlsym gives an object pointer; ISO C has no cast from that to a function. */
#define LOAD(place, library, name)                   \
    do {                                             \
        void *found_ = symbol(library, name);        \
        memcpy(&(place), &found_, sizeof(place));    \
        is_complete = is_complete && found_ != NULL; \
    } while (0)

enum { SSL_WANTS_READ = 2, SSL_WANTS_WRITE = 3, SSL_IS_OVER = 6 };

static struct {
    void *context;
    const void *(*method)(void);
    void *(*context_new)(const void *);
    long (*context_control)(void *, int, long, void *);
    int (*trust_system)(void *);
    void *(*connection_new)(void *);
    long (*control)(void *, int, long, void *);
    int (*set_fd)(void *, int);
    void (*set_verify)(void *, int, void *);
    int (*set_host)(void *, const char *);
    int (*connect)(void *);
    int (*read)(void *, void *, int);
    int (*write)(void *, const void *, int);
    int (*pending)(const void *);
    int (*get_error)(const void *, int);
    void (*free)(void *);
    void *(*peer)(const void *);
    int (*encode)(void *, unsigned char **);
    void (*free_certificate)(void *);
    void (*clear_errors)(void);
} tls;
static pthread_once_t tls_once = PTHREAD_ONCE_INIT;

static void load_tls(void) {
    enum { CONTROL_MODE = 33, PARTIAL_WRITES = 1, MOVING_BUFFER = 2 };
    void *ssl = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    ssl = ssl != NULL ? ssl : dlopen("libssl.so", RTLD_NOW | RTLD_LOCAL);
    int is_complete = ssl != NULL;
    LOAD(tls.method, ssl, "TLS_client_method");
    LOAD(tls.context_new, ssl, "SSL_CTX_new");
    LOAD(tls.context_control, ssl, "SSL_CTX_ctrl");
    LOAD(tls.trust_system, ssl, "SSL_CTX_set_default_verify_paths");
    LOAD(tls.connection_new, ssl, "SSL_new");
    LOAD(tls.control, ssl, "SSL_ctrl");
    LOAD(tls.set_fd, ssl, "SSL_set_fd");
    LOAD(tls.set_verify, ssl, "SSL_set_verify");
    LOAD(tls.set_host, ssl, "SSL_set1_host");
    LOAD(tls.connect, ssl, "SSL_connect");
    LOAD(tls.read, ssl, "SSL_read");
    LOAD(tls.write, ssl, "SSL_write");
    LOAD(tls.pending, ssl, "SSL_pending");
    LOAD(tls.get_error, ssl, "SSL_get_error");
    LOAD(tls.free, ssl, "SSL_free");
    LOAD(tls.peer, ssl, "SSL_get1_peer_certificate");
    LOAD(tls.encode, ssl, "i2d_X509");
    LOAD(tls.free_certificate, ssl, "X509_free");
    LOAD(tls.clear_errors, ssl, "ERR_clear_error");
    tls.context = is_complete ? tls.context_new(tls.method()) : NULL;
    if (tls.context == NULL)
        return;
    tls.context_control(tls.context, CONTROL_MODE, PARTIAL_WRITES | MOVING_BUFFER, NULL);
    tls.trust_system(tls.context);
}

/* Of UCX's parameters only the first fields are used; the mask says so, and the rest is room for later versions. */
struct ucx_parameters {
    uint64_t field_mask;
    union {
        uint64_t features;
        const void *address;
    } first;
    uint64_t room[62];
};

static struct {
    int is_there;
    int (*read_settings)(const char *, const char *, void **);
    int (*change_setting)(void *, const char *, const char *);
    void (*release_settings)(void *);
    int (*start)(unsigned, unsigned, const struct ucx_parameters *, const void *, void **);
    void (*end)(void *);
    int (*worker_new)(void *, const struct ucx_parameters *, void **);
    void (*worker_end)(void *);
    int (*address_of)(void *, void **, size_t *);
    void (*release_address)(void *, void *);
    unsigned (*progress)(void *);
    int (*endpoint_new)(void *, const struct ucx_parameters *, void **);
    void *(*endpoint_close)(void *, const struct ucx_parameters *);
    void *(*flush)(void *, const struct ucx_parameters *);
    void *(*send)(void *, const void *, size_t, uint64_t, const struct ucx_parameters *);
    void *(*receive)(void *, void *, size_t, uint64_t, uint64_t, const struct ucx_parameters *);
    int (*status)(void *);
    void (*cancel)(void *, void *);
    void (*free)(void *);
} ucx;
static pthread_once_t ucx_once = PTHREAD_ONCE_INIT;

static void load_ucx(void) {
    void *ucp = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    int is_complete = ucp != NULL;
    LOAD(ucx.read_settings, ucp, "ucp_config_read");
    LOAD(ucx.change_setting, ucp, "ucp_config_modify");
    LOAD(ucx.release_settings, ucp, "ucp_config_release");
    LOAD(ucx.start, ucp, "ucp_init_version");
    LOAD(ucx.end, ucp, "ucp_cleanup");
    LOAD(ucx.worker_new, ucp, "ucp_worker_create");
    LOAD(ucx.worker_end, ucp, "ucp_worker_destroy");
    LOAD(ucx.address_of, ucp, "ucp_worker_get_address");
    LOAD(ucx.release_address, ucp, "ucp_worker_release_address");
    LOAD(ucx.progress, ucp, "ucp_worker_progress");
    LOAD(ucx.endpoint_new, ucp, "ucp_ep_create");
    LOAD(ucx.endpoint_close, ucp, "ucp_ep_close_nbx");
    LOAD(ucx.flush, ucp, "ucp_ep_flush_nbx");
    LOAD(ucx.send, ucp, "ucp_tag_send_nbx");
    LOAD(ucx.receive, ucp, "ucp_tag_recv_nbx");
    LOAD(ucx.status, ucp, "ucp_request_check_status");
    LOAD(ucx.cancel, ucp, "ucp_request_cancel");
    LOAD(ucx.free, ucp, "ucp_request_free");
    ucx.is_there = is_complete;
}

/* ---- Channels: one connection, read and written in short turns so that a cancel is noticed ----------------------- */

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
    int passed_fd;   /* a descriptor that came with a message, or -1 */
    double deadline; /* for a handshake, by now_s(); 0: none */
    void *ssl;
    struct web *web; /* frames, where a web server is in between; else NULL */
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
        watch->is_cancelled = watch->progress(watch->context, watch->done, watch->total) != 0;
    int is_cancelled = watch->is_cancelled;
    pthread_mutex_unlock(&watch->lock);
    if (!is_cancelled)
        return PELLUCID_OK;
    return fail(error, PELLUCID_CANCELLED, "Send again to continue where it stopped.", "The transfer was cancelled.");
}

static void channel_clear(struct channel *channel) {
    memset(channel, 0, sizeof *channel);
    channel->fd = channel->passed_fd = -1;
}

static void channel_start(struct channel *channel, int fd, struct watch *watch) {
    struct timeval turn_time = {0, POLL_MS * 1000};
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    channel_clear(channel);
    channel->fd = fd;
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
    free(channel->web);
    if (channel->passed_fd >= 0)
        close(channel->passed_fd);
    shutdown(channel->fd, SHUT_RDWR);
    close(channel->fd);
    channel_clear(channel);
}

static int take_passed_fd(struct channel *channel) {
    int fd = channel->passed_fd;
    channel->passed_fd = -1;
    return fd;
}

/* Keep the first descriptor of a message, and close whatever else somebody pushed through. */
static void take_descriptors(struct channel *channel, struct msghdr *message) {
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL; head = CMSG_NXTHDR(message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = CMSG_LEN(0); at + sizeof(int) <= head->cmsg_len; at += sizeof(int)) {
            int fd;
            memcpy(&fd, (const uint8_t *)head + at, sizeof fd);
            if (channel->passed_fd < 0)
                channel->passed_fd = fd;
            else
                close(fd);
        }
    }
}

union ancillary {
    char space[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

static ssize_t receive_local(struct channel *channel, void *to, size_t count) {
    union ancillary ancillary;
    struct iovec part = {to, count};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
    ssize_t got = recvmsg(channel->fd, &message, MSG_CMSG_CLOEXEC);
    if (got >= 0)
        take_descriptors(channel, &message);
    return got;
}

/* Bytes with a descriptor, which travels with the first of them. */
static ssize_t send_with_descriptor(int fd, const void *bytes, size_t count, int descriptor) {
    union ancillary ancillary;
    struct iovec part = {(void *)(uintptr_t)bytes, count};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
    memset(&ancillary, 0, sizeof ancillary);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

/* libssl writes without MSG_NOSIGNAL, also while it reads: a connection that is gone must not end the program. */
struct quiet {
    sigset_t before;
    int was_pending;
};

static void hold_signals(struct quiet *quiet) {
    sigset_t pipe_only, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    quiet->was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &quiet->before);
}

static void release_signals(const struct quiet *quiet) {
    sigset_t pipe_only, pending;
    struct timespec at_once = {0, 0};
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    if (!quiet->was_pending && sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_only, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}

static ssize_t some_tls(struct channel *channel, void *bytes, size_t count, int is_writing) {
    int most = count > 1 << 30 ? 1 << 30 : (int)count;
    struct quiet quiet;
    hold_signals(&quiet);
    tls.clear_errors();
    errno = 0;
    int moved = is_writing ? tls.write(channel->ssl, bytes, most) : tls.read(channel->ssl, bytes, most);
    int fault = errno, why = moved > 0 ? 0 : tls.get_error(channel->ssl, moved);
    release_signals(&quiet);
    if (moved > 0)
        return moved;
    if (why == SSL_IS_OVER)
        return 0;
    errno = why == SSL_WANTS_READ || why == SSL_WANTS_WRITE ? EAGAIN
            : fault == 0 || fault == EAGAIN                 ? ECONNRESET
                                                            : fault;
    return -1;
}

/* -1 with errno = EAGAIN: nothing yet. */
static ssize_t some_plainly(struct channel *channel, void *bytes, size_t count, int is_writing) {
    if (channel->ssl != NULL)
        return some_tls(channel, bytes, count, is_writing);
    if (is_writing)
        return send(channel->fd, bytes, count, MSG_NOSIGNAL);
    return channel->is_local ? receive_local(channel, bytes, count) : recv(channel->fd, bytes, count, 0);
}

/* ---- Channels through a web server: the same bytes, in frames of a WebSocket (RFC 6455) -------------------------- */

enum {
    FRAME_BYTES = 1 << 17,
    FRAME_HEAD = 14,
    FRAME_NOTE = 125,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10
};

/* Frames on their way. */
struct web {
    uint8_t head[10]; /* of the frame that begins */
    size_t head_length;
    int kind;
    uint64_t left; /* of the frame that is being read */
    uint8_t note[FRAME_NOTE];
    size_t note_length;
    int is_over;
    size_t out_at, out_end; /* what is still to be written */
    uint8_t out[FRAME_HEAD + FRAME_BYTES];
};

/* Make a frame, masked as who connects has to: no text of ours can then pass for a request on the way. */
static int make_frame(struct web *web, int kind, const void *content, size_t count) {
    uint8_t *to = web->out, mask[4];
    if (getrandom(mask, sizeof mask, 0) != (ssize_t)sizeof mask) {
        errno = EIO;
        return 0;
    }
    *to++ = (uint8_t)(0x80 | kind);
    int bytes = count < 126 ? 0 : count < 65536 ? 2 : 8;
    *to++ = (uint8_t)(0x80 | (bytes == 0 ? count : bytes == 2 ? 126 : 127));
    for (int i = bytes - 1; i >= 0; i--)
        *to++ = (uint8_t)((uint64_t)count >> 8 * i);
    memcpy(to, mask, sizeof mask);
    to += sizeof mask;
    for (size_t i = 0; i < count; i++)
        to[i] = ((const uint8_t *)content)[i] ^ mask[i % 4];
    web->out_at = 0;
    web->out_end = (size_t)(to - web->out) + count;
    return 1;
}

/* Write what is still to be written; 0 where some is left, with errno. */
static int flush_frame(struct channel *channel) {
    struct web *web = channel->web;
    while (web->out_at < web->out_end) {
        ssize_t sent = some_plainly(channel, web->out + web->out_at, web->out_end - web->out_at, 1);
        if (sent <= 0)
            return 0;
        web->out_at += (size_t)sent;
    }
    return 1;
}

static ssize_t write_frame(struct channel *channel, const void *bytes, size_t count) {
    size_t part = count < FRAME_BYTES ? count : FRAME_BYTES;
    if (!flush_frame(channel) || !make_frame(channel->web, WS_BINARY, bytes, part))
        return -1;
    flush_frame(channel); /* what does not leave now does before the next read or write */
    return (ssize_t)part;
}

/* Whether the head of a frame is complete; negative where it is none of a transfer. */
static int begin_frame(struct web *web) {
    size_t length = web->head_length < 2 ? 0 : web->head[1], more = length == 126 ? 2 : length == 127 ? 8 : 0;
    if (web->head_length < 2 || web->head_length < 2 + more)
        return 0;
    web->kind = (web->head[0] & 0x0F) == 0 ? WS_BINARY : web->head[0] & 0x0F;
    web->left = more == 0 ? length : 0;
    for (size_t i = 0; i < more; i++)
        web->left = web->left << 8 | web->head[2 + i];
    web->head_length = web->note_length = 0;
    int is_control = web->kind == WS_CLOSE || web->kind == WS_PING || web->kind == WS_PONG;
    return (length & 0x80) || (web->kind != WS_BINARY && !is_control) || (is_control && web->left > FRAME_NOTE) ? -1
                                                                                                                : 1;
}

/* What a complete note asks for. */
static void obey_note(struct web *web) {
    if (web->kind == WS_CLOSE)
        web->is_over = 1;
    if (web->kind == WS_PING && web->out_at == web->out_end)
        make_frame(web, WS_PONG, web->note, web->note_length);
}

static ssize_t read_frame(struct channel *channel, void *bytes, size_t count) {
    struct web *web = channel->web;
    if (!flush_frame(channel) && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        return -1;
    while (!web->is_over) {
        ssize_t got;
        if (web->left > 0 && web->kind == WS_BINARY) {
            got = some_plainly(channel, bytes, count < web->left ? count : (size_t)web->left, 0);
            web->left -= got > 0 ? (uint64_t)got : 0;
            return got;
        }
        if (web->left > 0) {
            got = some_plainly(channel, web->note + web->note_length, (size_t)web->left, 0);
            web->note_length += got > 0 ? (size_t)got : 0;
            web->left -= got > 0 ? (uint64_t)got : 0;
        } else {
            size_t wanted = web->head_length < 2 ? 2 : web->head[1] == 126 ? 4 : 10;
            got = some_plainly(channel, web->head + web->head_length, wanted - web->head_length, 0);
            web->head_length += got > 0 ? (size_t)got : 0;
        }
        if (got <= 0)
            return got;
        int begun = web->head_length > 0 ? begin_frame(web) : 1;
        if (begun < 0) {
            errno = EPROTO;
            return -1;
        }
        if (begun == 1 && web->left == 0 && web->kind != WS_BINARY)
            obey_note(web);
    }
    return 0;
}

/* The same, through whatever is in between. */
static ssize_t some(struct channel *channel, void *bytes, size_t count, int is_writing) {
    if (channel->web == NULL)
        return some_plainly(channel, bytes, count, is_writing);
    return is_writing ? write_frame(channel, bytes, count) : read_frame(channel, bytes, count);
}

/* What to do when nothing moved: go on waiting, or give up. since: when something moved last; negative: be patient. */
static int wait_on(struct channel *channel, double since, pellucid_error *error) {
    int fault = errno;
    if (fault != EAGAIN && fault != EWOULDBLOCK && fault != EINTR)
        return broken(error, strerror(fault));
    TRY(advance(channel->watch, 0, error));
    if ((since >= 0 && now_s() - since > channel->watch->timeout_s) ||
        (channel->deadline > 0 && now_s() > channel->deadline))
        return broken(error, "the other end said nothing for too long");
    return PELLUCID_OK;
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
            if (channel->deadline > 0 && since > channel->deadline)
                return broken(error, "the other end took too long to say who it is");
        } else if (moved == 0) {
            return broken(error, "the other end closed the connection");
        } else {
            TRY(wait_on(channel, is_patient ? -1 : since, error));
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

/* Write two things, in one call where that can be: a head that goes alone is a packet of its own. */
static int write_both(struct channel *channel, const void *head, size_t head_count, const void *bytes, size_t count,
                      pellucid_error *error) {
    struct iovec parts[2] = {{(void *)(uintptr_t)head, head_count}, {(void *)(uintptr_t)bytes, count}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent = channel->ssl != NULL || channel->web != NULL ? 0 : sendmsg(channel->fd, &message, MSG_NOSIGNAL);
    size_t done = sent > 0 ? (size_t)sent : 0; /* what went wrong is said by the next write */
    size_t of_head = done < head_count ? done : head_count;
    TRY(write_bytes(channel, (const uint8_t *)head + of_head, head_count - of_head, error));
    return write_bytes(channel, (const uint8_t *)bytes + (done - of_head), count - (done - of_head), error);
}

/* Whether something can be read, or the other end is gone. */
static int has_news(const struct channel *channel, int wait_ms) {
    struct pollfd waiting = {channel->fd, POLLIN, 0};
    if (channel->ssl != NULL && tls.pending(channel->ssl) > 0)
        return 1;
    return poll(&waiting, 1, wait_ms) > 0;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

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
    if (length < 0) {
        text->is_lost = 1;
        return;
    }
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

/* Write bytes, the first of them with a descriptor. */
static int write_with_descriptor(struct channel *channel, const char *bytes, size_t count, int descriptor,
                                 pellucid_error *error) {
    double since = now_s();
    ssize_t sent;
    while ((sent = send_with_descriptor(channel->fd, bytes, count, descriptor)) < 0)
        TRY(wait_on(channel, since, error));
    return write_bytes(channel, bytes + sent, count - (size_t)sent, error);
}

/* Write a message, with a descriptor where it is not -1. Frees the head. */
static int say(struct channel *channel, struct text *head, const void *body, size_t body_length, int descriptor,
               pellucid_error *error) {
    uint32_t lengths[2] = {(uint32_t)head->length, (uint32_t)body_length};
    char prefix[12] = "PLT1";
    int code = PELLUCID_OK;
    memcpy(prefix + 4, lengths, sizeof lengths);
    if (head->is_lost || head->length > LONGEST_HEAD || body_length > LONGEST_BODY)
        code = fail(error, PELLUCID_INVALID, "Say less.", "A message is too long.");
    else if (descriptor >= 0)
        code = write_with_descriptor(channel, prefix, sizeof prefix, descriptor, error);
    else
        code = write_bytes(channel, prefix, sizeof prefix, error);
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

/* Read the next message; a refusal is returned as the error it stands for. is_patient: the other may take its time. */
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

/* ---- Addresses and the handshake --------------------------------------------------------------------------------- */

struct address {
    char host[256];
    char port[8];
    int is_secure;        /* TLS is spoken */
    char pin[NONCE_TEXT]; /* of the only certificate that is believed; empty: those that the system trusts */
    int is_web;           /* a web server hands the connection through */
    char path[512];       /* of the page, there */
    char bearer[512];     /* what that server knows us by */
};

static int address_read(const char *text, struct address *address, pellucid_error *error) {
    memset(address, 0, sizeof *address);
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
    address->is_secure = is_tls;
    return PELLUCID_OK;
}

static int unreachable(pellucid_error *error, const struct address *address, const char *why) {
    return fail(error, PELLUCID_UNREACHABLE,
                "Check that it is running there, the address and port, and the firewall between the two machines.",
                "%s:%s cannot be reached: %s.", address->host, address->port, why);
}

/* The SHA-256 of the certificate that the other end shows, as text; empty where it shows none. */
static void certificate_shown(void *ssl, char shown[NONCE_TEXT]) {
    void *certificate = tls.peer(ssl);
    int length = certificate == NULL ? 0 : tls.encode(certificate, NULL);
    unsigned char *space = length > 0 ? malloc((size_t)length) : NULL, *end = space;
    shown[0] = 0;
    if (space != NULL && tls.encode(certificate, &end) == length) {
        struct sha256 sha;
        uint8_t digest[32];
        sha256_start(&sha);
        sha256_add(&sha, space, (size_t)length);
        sha256_end(&sha, digest);
        to_hex(digest, 32, shown);
    }
    free(space);
    if (certificate != NULL)
        tls.free_certificate(certificate);
}

static int shake_hands(struct channel *channel) {
    double since = now_s();
    for (;;) {
        struct quiet quiet;
        hold_signals(&quiet);
        tls.clear_errors();
        int result = tls.connect(channel->ssl), why = result == 1 ? 0 : tls.get_error(channel->ssl, result);
        release_signals(&quiet);
        if (result == 1)
            return 1;
        if ((why != SSL_WANTS_READ && why != SSL_WANTS_WRITE) || now_s() - since > CONNECT_S ||
            advance(channel->watch, 0, NULL) != PELLUCID_OK)
            return 0;
    }
}

/* Speak TLS on a channel: with nobody but the holder of the pinned certificate, or whom the system trusts. */
static int start_tls(struct channel *channel, const struct address *address, pellucid_error *error) {
    enum { SET_SERVER_NAME = 55, VERIFY_PEER = 1 };
    char shown[NONCE_TEXT];
    pthread_once(&tls_once, load_tls);
    if (tls.context == NULL)
        return unreachable(error, address, "this needs TLS, and libssl 3 is not installed");
    channel->ssl = tls.connection_new(tls.context);
    if (channel->ssl == NULL || tls.set_fd(channel->ssl, channel->fd) != 1)
        return unreachable(error, address, "TLS could not be started");
    if (address->pin[0] == 0) {
        tls.set_verify(channel->ssl, VERIFY_PEER, NULL);
        if (tls.set_host(channel->ssl, address->host) != 1)
            return unreachable(error, address, "its name cannot be in a certificate");
        tls.control(channel->ssl, SET_SERVER_NAME, 0, (void *)(uintptr_t)address->host);
    }
    if (!shake_hands(channel))
        return unreachable(error, address,
                           address->pin[0] ? "TLS failed" : "TLS failed, or its certificate is not trusted");
    if (address->pin[0] == 0)
        return PELLUCID_OK;
    certificate_shown(channel->ssl, shown);
    if (!same_secret(shown, address->pin))
        return unreachable(error, address, "another certificate is shown there than the pinned one");
    return PELLUCID_OK;
}

/* Names below localhost are this machine, which not every resolver knows. */
static const char *host_to_connect(const char *name) {
    size_t length = strlen(name);
    return length > 10 && strcmp(name + length - 10, ".localhost") == 0 ? "127.0.0.1" : name;
}

/* A connection within some seconds; -1 with errno where there is none. */
static int connect_within(const struct addrinfo *place, struct watch *watch) {
    int fd = socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), fault = 0;
    double since = now_s();
    if (fd < 0)
        return -1;
    if (connect(fd, place->ai_addr, place->ai_addrlen) != 0 && errno != EINPROGRESS && errno != EINTR)
        fault = errno;
    for (int is_there = 0; fault == 0 && !is_there;) {
        struct pollfd waiting = {fd, POLLOUT, 0};
        socklen_t length = sizeof fault;
        is_there = poll(&waiting, 1, POLL_MS) > 0;
        if (is_there && getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &length) != 0)
            fault = errno;
        else if (!is_there && (now_s() - since > CONNECT_S || advance(watch, 0, NULL) != PELLUCID_OK))
            fault = ETIMEDOUT;
    }
    if (fault == 0 && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0)
        return fd;
    close(fd);
    errno = fault;
    return -1;
}

static int connect_plainly(const struct address *address, struct watch *watch, struct channel *channel,
                           pellucid_error *error) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int fault = getaddrinfo(host_to_connect(address->host), address->port, &hints, &found), fd = -1, why = 0;
    channel_clear(channel);
    if (fault != 0)
        return unreachable(error, address, gai_strerror(fault));
    for (struct addrinfo *each = found; each != NULL && fd < 0; each = each->ai_next)
        if ((fd = connect_within(each, watch)) < 0)
            why = errno;
    freeaddrinfo(found);
    if (fd < 0 && watch->is_cancelled)
        return advance(watch, 0, error);
    if (fd < 0)
        return unreachable(error, address, strerror(why));
    channel_start(channel, fd, watch);
    int code = address->is_secure ? start_tls(channel, address, error) : PELLUCID_OK;
    if (code != PELLUCID_OK)
        channel_close(channel);
    return code;
}

/* A line of a web server's answer, byte by byte: what follows the head is not ours to read. */
static int read_head_line(struct channel *channel, char *line, size_t room, pellucid_error *error) {
    for (size_t length = 0; length < room; length++) {
        TRY(read_bytes(channel, line + length, 1, error));
        if (line[length] == '\n') {
            line[length - (length > 0 && line[length - 1] == '\r')] = 0;
            return PELLUCID_OK;
        }
    }
    return against_rules(error, "a line of its answer is too long");
}

/* Ask a web server to hand the connection through. What it hands it to proves later that it holds the token. */
static int ask_web(const struct address *address, struct channel *channel, pellucid_error *error) {
    struct text head = {0};
    char key[33], line[2048];
    int status = 0, is_v6 = strchr(address->host, ':') != NULL;
    TRY(random_hex(10, key, error));
    add(&head, "GET %s/transfer HTTP/1.1\r\nHost: %s%s%s:%s\r\nAuthorization: Bearer %s\r\n", address->path,
        is_v6 ? "[" : "", address->host, is_v6 ? "]" : "", address->port, address->bearer);
    /* Twenty characters and the ending are the base 64 of sixteen bytes. */
    add(&head, "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n");
    add(&head, "Sec-WebSocket-Key: %.20s0w==\r\n\r\n", key);
    int code = head.is_lost ? no_memory(error, 0) : write_bytes(channel, head.at, head.length, error);
    free(head.at);
    TRY(code);
    TRY(read_head_line(channel, line, sizeof line, error));
    if (strncmp(line, "HTTP/1.", 7) != 0 || sscanf(line + 8, " %3d", &status) != 1)
        return against_rules(error, "it does not speak HTTP");
    if (status == 401 || status == 403)
        return wrong_token(error, "The web server");
    for (int i = 0; i < 100 && line[0] != 0; i++)
        TRY(read_head_line(channel, line, sizeof line, error));
    if (status == 101 && line[0] == 0)
        return PELLUCID_OK;
    snprintf(line, sizeof line, "the web server does not hand the connection through (status %d)", status);
    return unreachable(error, address, line);
}

static int connect_to(const struct address *address, struct watch *watch, struct channel *channel,
                      pellucid_error *error) {
    TRY(connect_plainly(address, watch, channel, error));
    if (!address->is_web)
        return PELLUCID_OK;
    int code = ask_web(address, channel, error);
    if (code == PELLUCID_OK) {
        channel->web = calloc(1, sizeof *channel->web);
        code = channel->web == NULL ? no_memory(error, sizeof *channel->web) : PELLUCID_OK;
    }
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

/* ---- What is sent, and its pieces -------------------------------------------------------------------------------- */

static const struct {
    const char *wire, *name;
    unsigned bytes;
} TYPES[] = {{"|b1", "bool", 1},      {"|i1", "int8", 1},        {"<i2", "int16", 2},   {"<i4", "int32", 4},
             {"<i8", "int64", 8},     {"|u1", "uint8", 1},       {"<u2", "uint16", 2},  {"<u4", "uint32", 4},
             {"<u8", "uint64", 8},    {"<f2", "float16", 2},     {"<f4", "float32", 4}, {"<f8", "float64", 8},
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

/* Copies of the texts of an array, for a transfer that outlives the call. data is mapped memory, or NULL. */
static int keep_texts(pellucid_array *array, pellucid_error *error) {
    struct owned *owned = calloc(1, sizeof *owned);
    array->data = NULL;
    array->owned = owned;
    if (owned == NULL)
        return no_memory(error, sizeof *owned);
    array->name = owned->name = strdup(array->name != NULL ? array->name : "");
    array->unit = owned->unit = strdup(array->unit != NULL ? array->unit : "");
    array->metadata = owned->metadata = strdup(array->metadata != NULL ? array->metadata : "{}");
    return owned->name != NULL && owned->unit != NULL && owned->metadata != NULL ? PELLUCID_OK : no_memory(error, 0);
}

enum lane { TCP, SHM, UCX, PROXY };
static const char *const LANES[] = {"tcp", "shm", "ucx", "proxy"};

/* One transfer: the array, its number, and how it is cut. */
struct transfer {
    pellucid_array array;
    char number[TRANSFER_TEXT];
    int has_checksum, is_stream;
    uint64_t bytes, piece_bytes;
    uint32_t count;    /* of pieces */
    uint8_t *is_there; /* for each piece, at the receiving end */
    int descriptor;    /* of the memory, at the receiving end; -1 at the other */
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
    if ((array->name != NULL && strlen(array->name) > LONGEST_NAME) ||
        (array->unit != NULL && strlen(array->unit) > LONGEST_NAME))
        return fail(error, PELLUCID_INVALID, "Choose a shorter one.", "The name or the unit is too long.");
    for (int i = 0; i < array->axes && array->spacing[0] != 0; i++)
        if (!isfinite(array->spacing[i]) || array->spacing[i] <= 0)
            return fail(error, PELLUCID_INVALID, "Give a number above 0 for each axis, or 0 for the first.",
                        "The spacing along axis %d cannot be.", i);
    return PELLUCID_OK;
}

static int announce(struct channel *control, const struct transfer *transfer, enum lane lane, pellucid_error *error) {
    const pellucid_array *array = &transfer->array;
    const char *metadata = array->metadata != NULL ? array->metadata : "{}";
    struct text head = {0};
    add(&head, "announce\ntransfer: %s\nlane: %s\ndtype: %s\nchecksum: %s\nmode: %s\nshape:", transfer->number,
        LANES[lane], TYPES[array->type].wire, transfer->has_checksum ? "xxh3" : "none",
        transfer->is_stream ? "stream" : "whole");
    for (int i = 0; i < array->axes; i++)
        add(&head, " %" PRIu64, array->shape[i]);
    if (array->axes == 0)
        add(&head, " ");
    locale_t before = speak_plainly();
    add(&head, "\nspacing:%s", array->spacing[0] == 0 || array->axes == 0 ? " " : "");
    for (int i = 0; i < array->axes && array->spacing[0] != 0; i++)
        add(&head, " %.17g", array->spacing[i]);
    uselocale(before);
    add_line(&head, "name", array->name != NULL ? array->name : "");
    add_line(&head, "unit", array->unit != NULL ? array->unit : "");
    return say(control, &head, metadata, strlen(metadata), -1, error);
}

/* Whether two announcements are of the same thing: then pieces that are there may stay. */
static int is_same_array(const struct transfer *a, const struct transfer *b) {
    size_t axes = (size_t)a->array.axes;
    return strcmp(a->number, b->number) == 0 && a->array.type == b->array.type && a->array.axes == b->array.axes &&
           memcmp(a->array.shape, b->array.shape, axes * sizeof *a->array.shape) == 0 && a->is_stream == b->is_stream &&
           a->has_checksum == b->has_checksum;
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
    locale_t before = speak_plainly();
    for (int i = 0; i < array->axes && *at; i++)
        array->spacing[i] = strtod(at, &at);
    uselocale(before);
    return PELLUCID_OK;
}

/* Whether it can be cut into such pieces. */
static int cut(struct transfer *transfer, uint64_t piece_bytes) {
    uint64_t most = transfer->bytes / MOST_PIECES;
    if (piece_bytes == 0 || piece_bytes > UINT32_MAX || piece_bytes < most / 16 ||
        piece_bytes % TYPES[transfer->array.type].bytes != 0)
        return 0;
    transfer->piece_bytes = piece_bytes;
    transfer->count = (uint32_t)(transfer->bytes / piece_bytes + (transfer->bytes % piece_bytes != 0));
    return transfer->count <= 32 * MOST_PIECES;
}

static uint64_t span(const struct transfer *transfer, uint32_t number, uint64_t *start) {
    *start = (uint64_t)number * transfer->piece_bytes;
    uint64_t left = transfer->bytes - *start;
    return left < transfer->piece_bytes ? left : transfer->piece_bytes;
}

static int reserve(int descriptor, uint64_t bytes) {
    int fault;
    do
        fault = posix_fallocate(descriptor, 0, (off_t)bytes);
    while (fault == EINTR);
    return fault == 0;
}

/* Memory for what was announced, reserved and mapped before a byte comes. */
static int prepare(struct transfer *transfer, pellucid_error *error) {
    const uint64_t most = (uint64_t)1 << 44, step = SMALLEST_PIECE;
    struct owned *owned = transfer->array.owned;
    if (transfer->bytes > most)
        return too_large(error, transfer->bytes, most);
    if (!cut(transfer, (transfer->bytes / MOST_PIECES + step) / step * step))
        return no_memory(error, transfer->bytes);
    owned->mapped = transfer->bytes > 0 ? transfer->bytes : 1;
    transfer->is_there = calloc((size_t)transfer->count + 1, 1);
    transfer->descriptor = memfd_create("pellucid", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (transfer->is_there == NULL || transfer->descriptor < 0 ||
        ftruncate(transfer->descriptor, (off_t)owned->mapped) != 0 ||
        fcntl(transfer->descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 ||
        !reserve(transfer->descriptor, owned->mapped))
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
            last >= transfer->count || (*length > 0 && first <= (*list)[*length - 1]))
            return against_rules(error, "it misses pieces that do not exist");
        for (uint64_t i = first; i <= last; i++)
            (*list)[(*length)++] = (uint32_t)i;
        at = stop;
    }
    return PELLUCID_OK;
}

/* ---- The lanes --------------------------------------------------------------------------------------------------- */

/* UCX's part of a link; all NULL until it is used. */
struct ucx_lane {
    void *context, *worker, *endpoint;
};

/* The connections of one transfer. Who connected opens more of them; who listens waits for them. */
struct link {
    struct channel control;
    struct channel streams[MOST_STREAMS];
    int stream_count, wanted_streams;
    struct watch watch;
    enum lane lane;
    struct ucx_lane ucx;
    const struct address *address;
    const char *token;
    pellucid_listener *listener; /* NULL at the end that connects */
};

static int await_stream(struct link *link, const char *transfer, struct channel *channel, pellucid_error *error);

static void ucx_close(struct ucx_lane *lane) {
    if (lane->worker != NULL)
        ucx.worker_end(lane->worker);
    if (lane->context != NULL)
        ucx.end(lane->context);
    memset(lane, 0, sizeof *lane);
}

static void link_close(struct link *link) {
    for (int i = 0; i < link->stream_count; i++)
        channel_close(&link->streams[i]);
    link->stream_count = 0;
    ucx_close(&link->ucx);
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
        TRY(write_both(channel, &each, sizeof each, piece, length, error));
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

/* The receiving end's memory, which came with a message. It must not shrink: touching what is gone would end us. */
static int attach(struct channel *control, uint64_t bytes, void **memory, pellucid_error *error) {
    struct stat status;
    int fd = take_passed_fd(control), seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
    *memory = NULL;
    if (fd >= 0 && fstat(fd, &status) == 0 && seals >= 0 && (seals & F_SEAL_SHRINK) &&
        (uint64_t)status.st_size >= bytes) {
        void *mapped = mmap(NULL, bytes > 0 ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        *memory = mapped == MAP_FAILED ? NULL : mapped;
    }
    if (fd >= 0)
        close(fd);
    return *memory != NULL ? PELLUCID_OK : against_rules(error, "it handed over no memory that fits");
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
    void *memory;
    TRY(attach(&link->control, transfer->bytes, &memory, error));
    work.memory = memory;
    int code = run_workers(&work, cores < 1 ? 1 : cores < 4 ? (int)cores : 4, copy_pieces, error);
    munmap(memory, transfer->bytes > 0 ? transfer->bytes : 1);
    return code != PELLUCID_OK ? code : say_word(&link->control, "sent", error);
}

/* ---- The lane through UCX ---------------------------------------------------------------------------------------- */

/* RDMA where a site has it, else UCX's own sockets and shared memory. Only addresses that were exchanged over the
 * authenticated connection lead to an endpoint: nothing listens. A peer that died is noticed on that connection. */

enum { UNDER_WAY = 8, TURNS = 256, UCX_FEATURE_TAG = 1, UCX_ADDRESS = 1, UCX_IN_PROGRESS = 1 };

static int ucx_is_there(void) {
    pthread_once(&ucx_once, load_ucx);
    return ucx.is_there;
}

/* Whether there is a network card on which UCX is faster than sockets. */
static int has_rdma(void) {
    DIR *cards = opendir("/sys/class/infiniband");
    int count = 0;
    for (struct dirent *each; cards != NULL && (each = readdir(cards)) != NULL;)
        count += each->d_name[0] != '.';
    if (cards != NULL)
        closedir(cards);
    return count > 0;
}

static int ucx_failed(pellucid_error *error, const char *what, int status) {
    return fail(error, PELLUCID_BROKEN, "Check the UCX_ variables (UCX_TLS, UCX_NET_DEVICES), or choose the lane tcp.",
                "UCX failed: %s (status %d).", what, status);
}

/* The name of the network that a connection goes over; empty where it is not known. */
static void network_of(int fd, char *name, size_t room) {
    struct sockaddr_in here;
    socklen_t length = sizeof here;
    struct ifaddrs *all = NULL;
    name[0] = 0;
    if (getsockname(fd, (struct sockaddr *)&here, &length) != 0 || here.sin_family != AF_INET || getifaddrs(&all) != 0)
        return;
    for (struct ifaddrs *each = all; each != NULL; each = each->ifa_next)
        if (each->ifa_addr != NULL && each->ifa_addr->sa_family == AF_INET &&
            ((struct sockaddr_in *)(void *)each->ifa_addr)->sin_addr.s_addr == here.sin_addr.s_addr)
            snprintf(name, room, "%s", each->ifa_name);
    freeifaddrs(all);
}

/* A setting, unless the site's environment has one. */
static void ucx_set(void *settings, const char *name, const char *value) {
    char variable[64];
    snprintf(variable, sizeof variable, "UCX_%s", name);
    if (value[0] && getenv(variable) == NULL)
        ucx.change_setting(settings, name, value);
}

static int ucx_open(struct link *link, pellucid_error *error) {
    struct ucx_parameters parameters = {.field_mask = 1, .first = {.features = UCX_FEATURE_TAG}}, none = {0};
    void *settings = NULL;
    char network[64];
    if (link->ucx.worker != NULL)
        return PELLUCID_OK;
    int status = ucx.read_settings(NULL, NULL, &settings);
    if (status != 0)
        return ucx_failed(error, "its settings", status);
    /* The defaults for sockets are made for small messages; and other networks may lead nowhere. */
    ucx_set(settings, "TLS", "^cma"); /* it ends this process when the other end's process is killed */
    ucx_set(settings, "TCP_TX_SEG_SIZE", "256K");
    ucx_set(settings, "TCP_RX_SEG_SIZE", "256K");
    network_of(link->control.fd, network, sizeof network);
    if (!has_rdma())
        ucx_set(settings, "NET_DEVICES", network);
    status = ucx.start(1, 9, &parameters, settings, &link->ucx.context);
    ucx.release_settings(settings);
    status = status != 0 ? status : ucx.worker_new(link->ucx.context, &none, &link->ucx.worker);
    return status == 0 ? PELLUCID_OK : ucx_failed(error, "starting", status);
}

/* Pieces under way, either direction. */
struct flight {
    struct link *link;
    struct transfer *transfer;
    const uint32_t *numbers;
    uint32_t count, posted, landed;
    void *requests[UNDER_WAY];
    uint64_t *sums; /* at the receiving end, for each piece: what was said or computed first */
    uint8_t *has_sum;
    int is_over; /* at the receiving end: the sender has sent everything */
    int (*post)(struct flight *, uint32_t number, void **request, pellucid_error *);
    int (*land)(struct flight *, uint32_t number, pellucid_error *);
    int (*look)(struct flight *, pellucid_error *);
};

/* 1: done, 0: not yet, negative: failed. A request that is NULL was done at once; an error is no pointer. */
static int ucx_state(void *request) {
    intptr_t value = (intptr_t)request;
    if (value <= 0 && value > -100)
        return value == 0 ? 1 : (int)value;
    int status = ucx.status(request);
    return status == UCX_IN_PROGRESS ? 0 : status == 0 ? 1 : status;
}

static void ucx_release(void *request) {
    intptr_t value = (intptr_t)request;
    if (value > 0 || value <= -100)
        ucx.free(request);
}

/* Give up what is under way: nothing may be written to our memory afterwards. */
static void ucx_cancel(struct flight *flight) {
    double since = now_s();
    for (; flight->landed < flight->posted; flight->landed++) {
        void *request = flight->requests[flight->landed % UNDER_WAY];
        if (ucx_state(request) == 0)
            ucx.cancel(flight->link->ucx.worker, request);
        while (ucx_state(request) == 0 && now_s() - since < 1)
            ucx.progress(flight->link->ucx.worker);
        if (ucx_state(request) != 0)
            ucx_release(request);
    }
}

/* Post what may be under way, and take what has landed. */
static int ucx_turn(struct flight *flight, double *since, pellucid_error *error) {
    while (flight->posted < flight->count && flight->posted - flight->landed < UNDER_WAY) {
        void **request = &flight->requests[flight->posted % UNDER_WAY];
        *request = NULL;
        TRY(flight->post(flight, flight->numbers[flight->posted], request, error));
        flight->posted++;
    }
    if (ucx.progress(flight->link->ucx.worker) == 0)
        sched_yield();
    while (flight->landed < flight->posted) {
        void *request = flight->requests[flight->landed % UNDER_WAY];
        int state = ucx_state(request);
        if (state == 0)
            break;
        ucx_release(request);
        uint32_t number = flight->numbers[flight->landed++];
        if (state < 0)
            return ucx_failed(error, "a piece", state);
        TRY(flight->land(flight, number, error));
        *since = now_s();
    }
    return PELLUCID_OK;
}

static int ucx_fly(struct flight *flight, pellucid_error *error) {
    double since = now_s();
    int code = PELLUCID_OK;
    for (unsigned turns = 1; code == PELLUCID_OK && flight->landed < flight->count; turns++) {
        code = ucx_turn(flight, &since, error);
        if (code == PELLUCID_OK && turns % TURNS == 0) {
            code = flight->look(flight, error);
            if (code == PELLUCID_OK && now_s() - since > flight->link->watch.timeout_s)
                code = broken(error, "the other end said nothing for too long");
        }
    }
    ucx_cancel(flight);
    return code;
}

static int post_send(struct flight *flight, uint32_t number, void **request, pellucid_error *error) {
    static const struct ucx_parameters plain = {0};
    uint64_t start, length = span(flight->transfer, number, &start);
    const uint8_t *piece = (const uint8_t *)flight->transfer->array.data + start;
    struct text head = {0};
    add(&head, "piece\nnumber: %" PRIu32 "\nchecksum: %" PRIu64, number, checksum(flight->transfer, piece, length));
    TRY(say(&flight->link->control, &head, "", 0, -1, error));
    *request = ucx.send(flight->link->ucx.endpoint, piece, length, number, &plain);
    return PELLUCID_OK;
}

static int land_sent(struct flight *flight, uint32_t number, pellucid_error *error) {
    uint64_t start;
    return advance(&flight->link->watch, span(flight->transfer, number, &start), error);
}

static int look_while_sending(struct flight *flight, pellucid_error *error) {
    TRY(advance(&flight->link->watch, 0, error));
    if (!has_news(&flight->link->control, 0))
        return PELLUCID_OK;
    return reason(&flight->link->control, broken(error, "the other end spoke out of turn"), error);
}

static int no_more(struct flight *flight, uint32_t number, pellucid_error *error) {
    (void)flight, (void)number, (void)error;
    return PELLUCID_OK;
}

static int post_flush(struct flight *flight, uint32_t number, void **request, pellucid_error *error) {
    static const struct ucx_parameters plain = {0};
    (void)number, (void)error;
    *request = ucx.flush(flight->link->ucx.endpoint, &plain);
    return PELLUCID_OK;
}

static int send_through_ucx(struct link *link, struct transfer *transfer, const struct message *ready,
                            const uint32_t *missing, uint32_t count, pellucid_error *error) {
    static const uint32_t once = 0;
    struct flight pieces = {.link = link, .transfer = transfer, .numbers = missing, .count = count};
    struct flight flush = {.link = link, .transfer = transfer, .numbers = &once, .count = 1};
    struct ucx_parameters there = {.field_mask = UCX_ADDRESS, .first = {.address = ready->body}};
    TRY(ucx_open(link, error));
    if (link->ucx.endpoint == NULL) {
        int status = ready->body_length == 0 ? -1 : ucx.endpoint_new(link->ucx.worker, &there, &link->ucx.endpoint);
        if (status != 0)
            return ucx_failed(error, "connecting", status);
    }
    pieces.post = post_send, pieces.land = land_sent, pieces.look = look_while_sending;
    flush.post = post_flush, flush.land = no_more, flush.look = look_while_sending;
    TRY(ucx_fly(&pieces, error));
    TRY(ucx_fly(&flush, error)); /* afterwards nobody turns the wheel here: everything has to be on its way */
    return say_word(&link->control, "sent", error);
}

static int post_receive(struct flight *flight, uint32_t number, void **request, pellucid_error *error) {
    static const struct ucx_parameters plain = {0};
    uint64_t start, length = span(flight->transfer, number, &start);
    (void)error;
    uint8_t *piece = (uint8_t *)flight->transfer->array.data + start;
    *request = ucx.receive(flight->link->ucx.worker, piece, length, number, UINT64_MAX, &plain);
    return PELLUCID_OK;
}

/* A piece is kept when what was computed here and what was said there agree; either may come first. */
static int agree(struct flight *flight, uint32_t number, uint64_t sum, pellucid_error *error) {
    uint64_t start;
    if (!flight->has_sum[number]) {
        flight->has_sum[number] = 1;
        flight->sums[number] = sum;
        return PELLUCID_OK;
    }
    if (flight->sums[number] != sum || flight->transfer->is_there[number])
        return PELLUCID_OK;
    flight->transfer->is_there[number] = 1;
    return advance(&flight->link->watch, span(flight->transfer, number, &start), error);
}

static int land_received(struct flight *flight, uint32_t number, pellucid_error *error) {
    uint64_t start, length = span(flight->transfer, number, &start);
    const uint8_t *piece = (const uint8_t *)flight->transfer->array.data + start;
    return agree(flight, number, checksum(flight->transfer, piece, length), error);
}

/* What the sender says about a piece, or that all of them are sent. */
static int hear_of_piece(struct flight *flight, pellucid_error *error) {
    struct message message;
    uint64_t number = 0, sum = 0;
    char text[24];
    TRY(expect(&flight->link->control, "piece", "sent", &message, error));
    flight->is_over = is_kind(&message, "sent");
    int code = flight->is_over ? PELLUCID_OK : number_field(&message, "number", &number, error);
    copy_field(&message, "checksum", text, sizeof text);
    message_free(&message);
    if (code != PELLUCID_OK || flight->is_over)
        return code;
    if (number >= flight->transfer->count)
        return against_rules(error, "it sent a piece that does not exist");
    sum = strtoull(text, NULL, 10);
    return agree(flight, (uint32_t)number, sum, error);
}

static int look_while_receiving(struct flight *flight, pellucid_error *error) {
    TRY(advance(&flight->link->watch, 0, error));
    while (!flight->is_over && has_news(&flight->link->control, 0))
        TRY(hear_of_piece(flight, error));
    return PELLUCID_OK;
}

/* Until the sender says that it has sent everything. What it still waits for leaves only while the wheel is turned. */
static int ucx_await_end(struct flight *flight, pellucid_error *error) {
    double since = now_s();
    while (!flight->is_over) {
        ucx.progress(flight->link->ucx.worker);
        if (has_news(&flight->link->control, 1))
            TRY(hear_of_piece(flight, error));
        TRY(advance(&flight->link->watch, 0, error));
        if (now_s() - since > flight->link->watch.timeout_s)
            return broken(error, "the other end said nothing for too long");
    }
    return PELLUCID_OK;
}

/* Say that we are ready, with our address. Frees the head. */
static int invite_ucx(struct link *link, struct text *head, pellucid_error *error) {
    void *address = NULL;
    size_t length = 0;
    int code = ucx_open(link, error);
    int status = code != PELLUCID_OK ? 0 : ucx.address_of(link->ucx.worker, &address, &length);
    if (code == PELLUCID_OK && status != 0)
        code = ucx_failed(error, "its own address", status);
    if (code != PELLUCID_OK) {
        free(head->at);
        return code;
    }
    code = say(&link->control, head, address, length, -1, error);
    ucx.release_address(link->ucx.worker, address);
    return code;
}

static int receive_through_ucx(struct link *link, struct transfer *transfer, struct text *head, pellucid_error *error) {
    struct flight flight = {.link = link, .transfer = transfer};
    uint32_t *missing = calloc((size_t)transfer->count + 1, sizeof *missing);
    flight.sums = calloc((size_t)transfer->count + 1, sizeof *flight.sums);
    flight.has_sum = calloc((size_t)transfer->count + 1, 1);
    flight.post = post_receive, flight.land = land_received, flight.look = look_while_receiving;
    int has_memory = missing != NULL && flight.sums != NULL && flight.has_sum != NULL;
    for (uint32_t i = 0; has_memory && i < transfer->count; i++)
        if (!transfer->is_there[i])
            missing[flight.count++] = i;
    flight.numbers = missing;
    if (!has_memory)
        free(head->at);
    int code = has_memory ? invite_ucx(link, head, error) : no_memory(error, transfer->count);
    code = code != PELLUCID_OK ? code : ucx_fly(&flight, error);
    code = code != PELLUCID_OK ? code : ucx_await_end(&flight, error);
    free(missing);
    free(flight.sums);
    free(flight.has_sum);
    return code;
}

/* ---- Sessions: one transfer, whoever connected ------------------------------------------------------------------- */

/* Send the pieces of one round. */
static int send_pieces_through(struct link *link, struct transfer *transfer, const struct message *ready,
                               const uint32_t *missing, uint32_t count, pellucid_error *error) {
    struct work work = {.link = link, .transfer = transfer, .missing = missing, .missing_count = count};
    if (link->lane == SHM)
        return send_in_memory(link, transfer, missing, count, error);
    if (link->lane == UCX)
        return send_through_ucx(link, transfer, ready, missing, count, error);
    uint64_t streams = 0;
    TRY(number_field(ready, "streams", &streams, error));
    if (streams == 0)
        return against_rules(error, "it asked for pieces over no connection");
    int code = open_streams(link, transfer->number, streams < MOST_STREAMS ? (int)streams : MOST_STREAMS, error);
    return code == PELLUCID_OK ? run_streams(&work, send_pieces, error) : reason(&link->control, code, error);
}

/* Answer one "ready". is_first: what is there already counts as resumed. */
static int send_round(struct link *link, struct transfer *transfer, const struct message *ready, int is_first,
                      pellucid_report *report, pellucid_error *error) {
    uint64_t piece = 0, missing_bytes = 0, start;
    uint32_t *missing = NULL, count = 0;
    TRY(number_field(ready, "piece", &piece, error));
    if (!cut(transfer, piece))
        return against_rules(error, "it asked for pieces of an impossible size");
    int code = read_missing(ready, transfer, &missing, &count, error);
    for (uint32_t i = 0; i < count; i++)
        missing_bytes += span(transfer, missing[i], &start);
    link->watch.done = transfer->bytes - missing_bytes;
    if (is_first)
        report->resumed_bytes = transfer->bytes - missing_bytes;
    code = code != PELLUCID_OK ? code : send_pieces_through(link, transfer, ready, missing, count, error);
    report->streams = link->stream_count > 0 ? link->stream_count : 1;
    free(missing);
    return code;
}

/* Send what the other end misses, until it has everything. */
static int send_rounds(struct link *link, struct transfer *transfer, pellucid_report *report, pellucid_error *error) {
    for (int round = 0; round <= 2 * MOST_ROUNDS; round++) {
        struct message answer;
        TRY(expect(&link->control, "ready", "stored", &answer, error));
        int is_stored = is_kind(&answer, "stored");
        int code = is_stored ? PELLUCID_OK : send_round(link, transfer, &answer, round == 0, report, error);
        message_free(&answer);
        if (is_stored || code != PELLUCID_OK)
            return code;
    }
    return against_rules(error, "it asked for the same pieces again and again");
}

static void finish_report(const struct link *link, const struct transfer *transfer, double since,
                          pellucid_report *report) {
    snprintf(report->lane, sizeof report->lane, "%s", LANES[link->lane]);
    report->bytes = transfer->bytes - report->resumed_bytes;
    report->seconds = now_s() - since;
}

static int deliver(struct link *link, struct transfer *transfer, pellucid_report *report, pellucid_error *error) {
    double since = now_s();
    link->watch.total = transfer->bytes;
    int code = announce(&link->control, transfer, link->lane, error);
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
    if (link->lane != SHM)
        touch(transfer);
    if (link->lane == UCX)
        return receive_through_ucx(link, transfer, &head, error);
    TRY(say(&link->control, &head, "", 0, link->lane == SHM ? transfer->descriptor : -1, error));
    if (link->lane != SHM) {
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
    report->streams = link->stream_count > 0 ? link->stream_count : 1;
    finish_report(link, transfer, since, report);
    return say_word(&link->control, "stored", error);
}

/* ---- The end that connects --------------------------------------------------------------------------------------- */

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

/* Where an end listens: "host:port", or behind a web server. */
static int find_address(const char *text, const char *token, struct address *address, pellucid_error *error);

static int is_lane(const char *wanted, enum lane lane) { return wanted != NULL && strcmp(wanted, LANES[lane]) == 0; }

static int lane_check(const char *lane, pellucid_error *error) {
    if (lane == NULL || strcmp(lane, "auto") == 0 || is_lane(lane, SHM) || is_lane(lane, TCP) || is_lane(lane, UCX) ||
        is_lane(lane, PROXY))
        return PELLUCID_OK;
    return fail(error, PELLUCID_INVALID, "Choose shm, tcp or ucx, or leave it out.", "There is no lane '%.20s'.", lane);
}

/* Go over to a local socket, which memory can be handed through. Whether that could be. */
static int go_local(struct link *link, const struct message *welcome, int *is_local, pellucid_error *error) {
    char here[64], there[64], name[100];
    struct channel local;
    struct message again;
    machine(here, sizeof here);
    copy_field(welcome, "machine", there, sizeof there);
    copy_field(welcome, "local", name, sizeof name);
    *is_local = here[0] && strcmp(here, there) == 0 && name[0] && connect_locally(name, &link->watch, &local);
    if (!*is_local)
        return PELLUCID_OK;
    channel_close(&link->control);
    link->control = local;
    link->lane = SHM;
    TRY(introduce(&link->control, link->token, NULL, &again, error));
    message_free(&again);
    return PELLUCID_OK;
}

/* Take the best lane between the two ends, or the one that is wanted. */
static int choose_lane(struct link *link, const struct message *welcome, const char *wanted, pellucid_error *error) {
    char lanes[64], rdma[8];
    int is_local = 0;
    copy_field(welcome, "lanes", lanes, sizeof lanes);
    copy_field(welcome, "rdma", rdma, sizeof rdma);
    if (strstr(lanes, LANES[PROXY]) != NULL &&
        (wanted == NULL || strcmp(wanted, "auto") == 0 || is_lane(wanted, PROXY))) {
        link->lane = PROXY;
        return PELLUCID_OK;
    }
    if (is_lane(wanted, PROXY) || strstr(lanes, LANES[TCP]) == NULL)
        return fail(error, PELLUCID_INVALID, "Leave the lane out.", "This lane does not lead there.");
    if (is_lane(wanted, TCP))
        return PELLUCID_OK;
    if (!is_lane(wanted, UCX))
        TRY(go_local(link, welcome, &is_local, error));
    if (is_local)
        return PELLUCID_OK;
    if (is_lane(wanted, SHM))
        return fail(error, PELLUCID_UNREACHABLE, "Leave the lane out.", "The other end is on another machine.");
    int is_best = is_lane(wanted, UCX) || (rdma[0] && has_rdma());
    if (is_best && strstr(lanes, "ucx") != NULL && ucx_is_there())
        link->lane = UCX;
    else if (is_lane(wanted, UCX))
        return fail(error, PELLUCID_INVALID,
                    "Install UCX at both ends, where libucp.so.0 is found, or leave the lane out.",
                    "The lane ucx does not lead there.");
    return PELLUCID_OK;
}

static int call(struct link *link, const struct address *address, const char *token, const pellucid_options *options,
                pellucid_error *error) {
    struct message welcome;
    memset(link, 0, sizeof *link);
    link->address = address;
    link->token = token;
    link->wanted_streams = options->streams;
    channel_clear(&link->control);
    watch_start(&link->watch, options);
    int code = connect_to(address, &link->watch, &link->control, error);
    if (code == PELLUCID_OK)
        code = introduce(&link->control, token, NULL, &welcome, error);
    if (code == PELLUCID_OK) {
        code = choose_lane(link, &welcome, options->lane, error);
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

/* Longer before each further attempt. */
static void pause_before(int attempt) { pause_s(0.2 * (1 << (attempt < 6 ? attempt : 6))); }

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
                        const pellucid_options *options, pellucid_report *report, pellucid_error *error,
                        int *has_begun) {
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

/* Send, and take up a transfer that broke, as often as the options allow. */
static int send_repeatedly(const struct address *address, const char *token, struct transfer *transfer,
                           const pellucid_options *options, pellucid_report *report, pellucid_error *error) {
    int code = PELLUCID_BROKEN, has_begun = 0;
    for (int attempt = 1; attempt <= options->attempts; attempt++) {
        code = attempt_send(address, token, transfer, options, report, error, &has_begun);
        if (!is_worth_another_try(code) || !has_begun || attempt == options->attempts)
            break;
        pause_before(attempt);
    }
    return code;
}

static int send_to(const struct address *address, const char *token, const pellucid_array *array,
                   const pellucid_options *given, pellucid_report *report, pellucid_error *error) {
    pellucid_options options = with_defaults(given);
    pellucid_report unused_report;
    pellucid_error unused_error;
    struct transfer transfer = {.array = *array, .has_checksum = !options.no_checksum, .descriptor = -1};
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    TRY(array_check(array, 1, error));
    TRY(token_check(token, error));
    TRY(lane_check(options.lane, error));
    TRY(random_hex(16, transfer.number, error));
    transfer.bytes = pellucid_bytes(array);
    return send_repeatedly(address, token, &transfer, &options, report, error);
}

int pellucid_send(const char *address, const char *token, const pellucid_array *array, const pellucid_options *options,
                  pellucid_report *report, pellucid_error *error) {
    struct address there;
    TRY(find_address(address, token, &there, error));
    return send_to(&there, token, array, options, report, error);
}

static int request_array(struct link *link, struct transfer *transfer, const char *number, const char *request,
                         const pellucid_options *options, pellucid_report *report, pellucid_error *error) {
    struct text head = {0};
    struct message announced;
    struct transfer fresh = {.descriptor = -1};
    add(&head, "request\ntransfer: %s\nlane: %s\nchecksum: %s", number, LANES[link->lane],
        options->no_checksum ? "none" : "xxh3");
    TRY(say(&link->control, &head, request, strlen(request), -1, error));
    TRY(expect(&link->control, "announce", NULL, &announced, error));
    int code = read_announcement(&announced, &fresh, error);
    message_free(&announced);
    if (code == PELLUCID_OK && strcmp(fresh.number, number) != 0)
        code = against_rules(error, "it sends something else than what was asked for");
    if (code == PELLUCID_OK && fresh.bytes > options->limit_bytes)
        code = too_large(error, fresh.bytes, options->limit_bytes);
    if (code == PELLUCID_OK && !(transfer->array.data != NULL && is_same_array(transfer, &fresh))) {
        transfer_free(transfer);
        *transfer = fresh;
        memset(&fresh, 0, sizeof fresh);
        fresh.descriptor = -1;
        code = prepare(transfer, error);
    }
    transfer_free(&fresh); /* what arrived before is used again */
    return code != PELLUCID_OK ? code : take(link, transfer, report, error);
}

/* Hand a received array over to the caller. */
static void hand_over(struct transfer *transfer, pellucid_array *array) {
    *array = transfer->array;
    memset(&transfer->array, 0, sizeof transfer->array);
    transfer_free(transfer);
}

static int retrieve_repeatedly(const struct address *address, const char *token, const char *request,
                               const pellucid_options *options, struct transfer *transfer, pellucid_report *report,
                               pellucid_error *error) {
    struct link *link = calloc(1, sizeof *link);
    char number[TRANSFER_TEXT];
    int code = link == NULL ? no_memory(error, sizeof *link) : random_hex(16, number, error), has_begun = 0;
    for (int attempt = 1; link != NULL && attempt <= options->attempts; attempt++) {
        code = call(link, address, token, options, error);
        if (code == PELLUCID_OK) {
            has_begun = 1;
            code = told(link, request_array(link, transfer, number, request, options, report, error), error);
            link_close(link);
        }
        if (!has_begun || !is_worth_another_try(code) || attempt == options->attempts)
            break;
        pause_before(attempt);
    }
    free(link);
    return code;
}

static int retrieve_from(const struct address *address, const char *token, const char *request,
                         const pellucid_options *given, pellucid_array *array, pellucid_report *report,
                         pellucid_error *error) {
    pellucid_options options = with_defaults(given);
    pellucid_report unused_report;
    pellucid_error unused_error;
    struct transfer transfer = {.descriptor = -1};
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    memset(array, 0, sizeof *array);
    TRY(token_check(token, error));
    TRY(lane_check(options.lane, error));
    request = request != NULL ? request : "{}";
    int code = retrieve_repeatedly(address, token, request, &options, &transfer, report, error);
    if (code == PELLUCID_OK)
        hand_over(&transfer, array);
    transfer_free(&transfer);
    return code;
}

int pellucid_retrieve(const char *address, const char *token, const char *request, const pellucid_options *options,
                      pellucid_array *array, pellucid_report *report, pellucid_error *error) {
    struct address there;
    memset(array, 0, sizeof *array);
    TRY(find_address(address, token, &there, error));
    return retrieve_from(&there, token, request, options, array, report, error);
}

struct pellucid_allocation {
    struct link link;
    struct transfer transfer; /* its memory and texts are the allocation's */
    struct address address;
    char *token;
    pellucid_options options;
    int is_open;
};

/* What every end that connects checks first. */
static int start_transfer(struct transfer *transfer, const pellucid_array *array, const pellucid_options *options,
                          pellucid_error *error) {
    memset(transfer, 0, sizeof *transfer);
    transfer->descriptor = -1;
    transfer->has_checksum = !options->no_checksum;
    TRY(array_check(array, 0, error));
    TRY(lane_check(options->lane, error));
    transfer->array = *array;
    transfer->bytes = pellucid_bytes(array);
    TRY(keep_texts(&transfer->array, error));
    ((struct owned *)transfer->array.owned)->mapped = transfer->bytes > 0 ? transfer->bytes : 1;
    return random_hex(16, transfer->number, error);
}

/* Announce an array that is not there yet, and get the receiving end's memory for it. */
static int allocate_there(pellucid_allocation *allocation, pellucid_error *error) {
    struct message ready;
    struct link *link = &allocation->link;
    TRY(announce(&link->control, &allocation->transfer, SHM, error));
    TRY(expect(&link->control, "ready", "stored", &ready, error));
    int has_memory = is_kind(&ready, "ready");
    message_free(&ready);
    if (has_memory)
        return attach(&link->control, allocation->transfer.bytes, &allocation->transfer.array.data, error);
    link_close(link); /* what has no voxel is complete as soon as it is announced */
    return PELLUCID_OK;
}

static int allocate_here(struct transfer *transfer, pellucid_error *error) {
    size_t mapped = ((struct owned *)transfer->array.owned)->mapped;
    void *memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return no_memory(error, mapped);
    transfer->array.data = memory;
    return PELLUCID_OK;
}

static int open_allocation(pellucid_allocation *allocation, pellucid_error *error) {
    struct link *link = &allocation->link;
    TRY(call(link, &allocation->address, allocation->token, &allocation->options, error));
    allocation->is_open = 1;
    if (link->lane == SHM && allocation->transfer.bytes > 0)
        return allocate_there(allocation, error);
    link_close(link); /* filling it may take hours: it is called again then */
    allocation->is_open = 0;
    return allocate_here(&allocation->transfer, error);
}

static int allocate_at(const struct address *address, const char *token, pellucid_array *array,
                       const pellucid_options *given, pellucid_allocation **result, pellucid_error *error) {
    pellucid_error unused;
    pellucid_allocation *allocation = calloc(1, sizeof *allocation);
    error = error != NULL ? error : &unused;
    *result = NULL;
    if (allocation == NULL)
        return no_memory(error, sizeof *allocation);
    allocation->options = with_defaults(given);
    allocation->address = *address;
    allocation->token = strdup(token != NULL ? token : "");
    int code = start_transfer(&allocation->transfer, array, &allocation->options, error);
    code = code != PELLUCID_OK ? code : token_check(allocation->token, error);
    code = code != PELLUCID_OK ? code : open_allocation(allocation, error);
    if (code != PELLUCID_OK) {
        pellucid_abandon(allocation);
        return code;
    }
    array->data = allocation->transfer.array.data;
    *result = allocation;
    return PELLUCID_OK;
}

int pellucid_allocate(const char *address, const char *token, pellucid_array *array, const pellucid_options *options,
                      pellucid_allocation **allocation, pellucid_error *error) {
    struct address there;
    *allocation = NULL;
    TRY(find_address(address, token, &there, error));
    return allocate_at(&there, token, array, options, allocation, error);
}

int pellucid_commit(pellucid_allocation *allocation, pellucid_report *report, pellucid_error *error) {
    pellucid_report unused_report;
    pellucid_error unused_error;
    struct message stored;
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    int code;
    if (allocation->is_open) {
        snprintf(report->lane, sizeof report->lane, "shm");
        code = say_word(&allocation->link.control, "sent", error);
        code = code != PELLUCID_OK ? code : expect(&allocation->link.control, "stored", NULL, &stored, error);
        if (code == PELLUCID_OK)
            message_free(&stored);
    } else {
        code = send_repeatedly(&allocation->address, allocation->token, &allocation->transfer, &allocation->options,
                               report, error);
    }
    pellucid_abandon(allocation);
    return code;
}

void pellucid_abandon(pellucid_allocation *allocation) {
    if (allocation == NULL)
        return;
    if (allocation->is_open)
        link_close(&allocation->link);
    transfer_free(&allocation->transfer);
    free(allocation->token);
    free(allocation);
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

struct block_head {
    struct piece_head piece;
    uint32_t start[3], stop[3];
};

/* A block that is under way, with a copy in case that it has to be sent again. */
struct sent_block {
    struct block_head head;
    uint8_t *copy;
    size_t room;
    int which; /* connection */
    int is_under_way;
};

enum { WINDOW = 16 };

struct pellucid_stream {
    struct link link;
    struct transfer transfer; /* data: the receiving end's memory, on one machine */
    struct address address;
    char *token;
    pellucid_options options;
    uint32_t number;
    enum lane lane;
    struct sent_block window[WINDOW];
};

static int open_stream(pellucid_stream *stream, pellucid_error *error) {
    struct message ready;
    uint64_t streams = 0;
    struct link *link = &stream->link;
    TRY(call(link, &stream->address, stream->token, &stream->options, error));
    link->lane = link->lane == UCX ? TCP : link->lane; /* blocks have no lane through UCX */
    stream->lane = link->lane;
    link->watch.total = stream->transfer.bytes;
    TRY(announce(&link->control, &stream->transfer, link->lane, error));
    TRY(expect(&link->control, "ready", NULL, &ready, error));
    int code = link->lane == SHM ? PELLUCID_OK : number_field(&ready, "streams", &streams, error);
    message_free(&ready);
    TRY(code);
    if (link->lane == SHM)
        return attach(&link->control, stream->transfer.bytes, &stream->transfer.array.data, error);
    if (streams == 0)
        return against_rules(error, "it wants blocks over no connection");
    streams = streams < MOST_STREAMS ? streams : MOST_STREAMS;
    return reason(&link->control, open_streams(link, stream->transfer.number, (int)streams, error), error);
}

static int stream_to(const struct address *address, const char *token, const pellucid_array *volume,
                     const pellucid_options *given, pellucid_stream **result, pellucid_error *error) {
    pellucid_error unused;
    pellucid_stream *stream = calloc(1, sizeof *stream);
    error = error != NULL ? error : &unused;
    *result = NULL;
    if (stream == NULL)
        return no_memory(error, sizeof *stream);
    channel_clear(&stream->link.control);
    stream->options = with_defaults(given);
    stream->address = *address;
    stream->token = strdup(token != NULL ? token : "");
    int code = start_transfer(&stream->transfer, volume, &stream->options, error);
    stream->transfer.is_stream = 1;
    if (code == PELLUCID_OK && volume->axes != 3)
        code = fail(error, PELLUCID_INVALID, "Give three axes: z, y, x.", "A stream of %d axes is no volume.",
                    volume->axes);
    for (int i = 0; code == PELLUCID_OK && i < 3; i++)
        if (volume->shape[i] > UINT32_MAX)
            code = fail(error, PELLUCID_INVALID, "Send it in parts.", "A stream is too long along axis %d.", i);
    code = code != PELLUCID_OK ? code : token_check(stream->token, error);
    code = code != PELLUCID_OK ? code : open_stream(stream, error);
    if (code != PELLUCID_OK) {
        pellucid_stream_abandon(stream);
        return code;
    }
    *result = stream;
    return PELLUCID_OK;
}

int pellucid_stream_open(const char *address, const char *token, const pellucid_array *volume,
                         const pellucid_options *options, pellucid_stream **stream, pellucid_error *error) {
    struct address there;
    *stream = NULL;
    TRY(find_address(address, token, &there, error));
    return stream_to(&there, token, volume, options, stream, error);
}

static int put_on_wire(pellucid_stream *stream, const struct sent_block *block, pellucid_error *error) {
    struct channel *channel = &stream->link.streams[block->which];
    return write_both(channel, &block->head, sizeof block->head, block->copy, block->head.piece.length, error);
}

/* The block that was sent first of those that are under way; NULL where none is. */
static struct sent_block *oldest(pellucid_stream *stream) {
    struct sent_block *found = NULL;
    for (struct sent_block *each = stream->window; each < stream->window + WINDOW; each++)
        if (each->is_under_way && (found == NULL || each->head.piece.number < found->head.piece.number))
            found = each;
    return found;
}

/* The next answer on a connection. A block that came wrong is sent again. */
static int read_answer(pellucid_stream *stream, int which, pellucid_error *error) {
    uint32_t answer[2];
    TRY(read_bytes(&stream->link.streams[which], answer, sizeof answer, error));
    for (struct sent_block *each = stream->window; each < stream->window + WINDOW; each++)
        if (each->is_under_way && each->which == which && each->head.piece.number == answer[0]) {
            if (answer[1] != 1)
                return put_on_wire(stream, each, error);
            each->is_under_way = 0;
            return advance(&stream->link.watch, each->head.piece.length, error);
        }
    return against_rules(error, "it answered a block that was not sent");
}

/* A new link, on which the same transfer is announced and the blocks that were under way are sent again. */
static int redial(pellucid_stream *stream, pellucid_error *error) {
    uint64_t done = stream->link.watch.done;
    int which = 0;
    link_close(&stream->link);
    TRY(open_stream(stream, error));
    stream->link.watch.done = done;
    for (struct sent_block *each = stream->window; each < stream->window + WINDOW; each++)
        if (each->is_under_way) {
            each->which = which++ % stream->link.stream_count;
            TRY(put_on_wire(stream, each, error));
        }
    return PELLUCID_OK;
}

/* What can be done about a failure: where the connection broke, come back as often as the options allow. */
static int recover(pellucid_stream *stream, int code, pellucid_error *error) {
    code = reason(&stream->link.control, code, error);
    for (int attempt = 1; attempt < stream->options.attempts && is_worth_another_try(code); attempt++) {
        if (stream->lane == SHM)
            break;
        stream->options.lane = LANES[stream->lane];
        pause_before(attempt);
        code = redial(stream, error);
    }
    return code;
}

/* Wait until the oldest block has arrived. */
static int settle_oldest(pellucid_stream *stream, pellucid_error *error) {
    struct sent_block *block = oldest(stream);
    int code = block == NULL ? PELLUCID_OK : read_answer(stream, block->which, error);
    return code == PELLUCID_OK ? code : recover(stream, code, error);
}

/* A place for a copy; waits for one where too much is under way. */
static int find_place(pellucid_stream *stream, uint64_t length, struct sent_block **place, pellucid_error *error) {
    for (;;) {
        for (struct sent_block *each = stream->window; each < stream->window + WINDOW; each++)
            if (!each->is_under_way) {
                *place = each;
                uint8_t *larger = each->room >= length ? each->copy : realloc(each->copy, length);
                if (larger == NULL)
                    return no_memory(error, length);
                each->copy = larger;
                each->room = each->room >= length ? each->room : length;
                return PELLUCID_OK;
            }
        TRY(settle_oldest(stream, error));
    }
}

static int send_block(pellucid_stream *stream, const uint8_t *block, const uint64_t start[3], const uint64_t shape[3],
                      pellucid_error *error) {
    uint64_t length = shape[0] * shape[1] * shape[2] * TYPES[stream->transfer.array.type].bytes;
    struct sent_block *place;
    if (stream->link.stream_count == 0)
        return broken(error, "the stream broke before, and could not be taken up");
    TRY(find_place(stream, length, &place, error));
    memcpy(place->copy, block, length);
    place->head.piece =
        (struct piece_head){stream->number, (uint32_t)length, checksum(&stream->transfer, place->copy, length)};
    for (int i = 0; i < 3; i++) {
        place->head.start[i] = (uint32_t)start[i];
        place->head.stop[i] = (uint32_t)(start[i] + shape[i]);
    }
    place->which = (int)(stream->number % (uint32_t)stream->link.stream_count);
    place->is_under_way = 1;
    stream->number = stream->number == LAST - 1 ? 0 : stream->number + 1;
    int code = put_on_wire(stream, place, error);
    return code == PELLUCID_OK ? code : recover(stream, code, error);
}

/* Send a block in parts that are small enough, each without gaps: cut across the slowest axis that can be. */
static int send_parts(pellucid_stream *stream, const uint8_t *block, const uint64_t start[3], const uint64_t shape[3],
                      pellucid_error *error) {
    uint64_t size = TYPES[stream->transfer.array.type].bytes, unit = size;
    int axis = shape[0] > 1 ? 0 : shape[1] > 1 ? 1 : 2;
    for (int i = axis + 1; i < 3; i++)
        unit *= shape[i];
    uint64_t most = unit < LARGEST_PART ? LARGEST_PART / unit : 1;
    if (shape[axis] <= most && unit <= LARGEST_PART)
        return send_block(stream, block, start, shape, error);
    for (uint64_t at = 0; at < shape[axis]; at += most) {
        uint64_t from[3] = {start[0], start[1], start[2]}, part[3] = {shape[0], shape[1], shape[2]};
        from[axis] += at;
        part[axis] = shape[axis] - at < most ? shape[axis] - at : most;
        TRY(send_parts(stream, block + at * unit, from, part, error));
    }
    return PELLUCID_OK;
}

/* Copy a block into the place where it belongs in a volume. */
static void place_block(const pellucid_array *volume, const uint8_t *block, const uint64_t start[3],
                        const uint64_t shape[3]) {
    uint64_t size = TYPES[volume->type].bytes, row = shape[2] * size;
    for (uint64_t z = 0; z < shape[0]; z++)
        for (uint64_t y = 0; y < shape[1]; y++) {
            uint64_t at = ((start[0] + z) * volume->shape[1] + start[1] + y) * volume->shape[2] + start[2];
            memcpy((uint8_t *)volume->data + at * size, block, row);
            block += row;
        }
}

static int write_in_memory(pellucid_stream *stream, const void *block, const uint64_t start[3], const uint64_t shape[3],
                           pellucid_error *error) {
    struct text head = {0};
    struct channel *control = &stream->link.control;
    if (has_news(control, 0))
        return reason(control, broken(error, "the other end went away"), error);
    place_block(&stream->transfer.array, block, start, shape);
    add(&head, "block\nbox:");
    for (int i = 0; i < 3; i++)
        add(&head, " %" PRIu64, start[i]);
    for (int i = 0; i < 3; i++)
        add(&head, " %" PRIu64, start[i] + shape[i]);
    TRY(say(control, &head, "", 0, -1, error));
    return advance(&stream->link.watch, shape[0] * shape[1] * shape[2] * TYPES[stream->transfer.array.type].bytes,
                   error);
}

int pellucid_stream_write(pellucid_stream *stream, const void *block, const uint64_t start[3], const uint64_t shape[3],
                          pellucid_error *error) {
    pellucid_error unused;
    const pellucid_array *volume = &stream->transfer.array;
    error = error != NULL ? error : &unused;
    for (int i = 0; i < 3; i++)
        if (start[i] > volume->shape[i] || shape[i] > volume->shape[i] - start[i])
            return fail(error, PELLUCID_INVALID, "Check start and shape.", "A block does not fit into the volume.");
    if (shape[0] == 0 || shape[1] == 0 || shape[2] == 0)
        return PELLUCID_OK;
    if (stream->link.lane == SHM)
        return write_in_memory(stream, block, start, shape, error);
    return send_parts(stream, block, start, shape, error);
}

/* Say on every connection that this was all, and hear that all of it is there. */
static int finish_stream(pellucid_stream *stream, pellucid_error *error) {
    struct block_head last = {.piece = {LAST, 0, 0}};
    struct message stored;
    if (stream->link.lane == SHM)
        TRY(say_word(&stream->link.control, "finish", error));
    for (int i = 0; i < stream->link.stream_count; i++)
        TRY(write_bytes(&stream->link.streams[i], &last, sizeof last, error));
    TRY(expect(&stream->link.control, "stored", NULL, &stored, error));
    message_free(&stored);
    return PELLUCID_OK;
}

int pellucid_stream_close(pellucid_stream *stream, pellucid_error *error) {
    pellucid_error unused;
    int code = PELLUCID_OK;
    error = error != NULL ? error : &unused;
    while (code == PELLUCID_OK && oldest(stream) != NULL)
        code = settle_oldest(stream, error);
    if (code == PELLUCID_OK)
        code = reason(&stream->link.control, finish_stream(stream, error), error);
    pellucid_stream_abandon(stream);
    return code;
}

void pellucid_stream_abandon(pellucid_stream *stream) {
    if (stream == NULL)
        return;
    for (int i = 0; i < WINDOW; i++)
        free(stream->window[i].copy);
    link_close(&stream->link);
    transfer_free(&stream->transfer);
    free(stream->token);
    free(stream);
}

/* ---- The end that listens ---------------------------------------------------------------------------------------- */

/* Somebody who connected, and has not shown the token yet. */
struct stranger {
    struct channel channel;
    char nonce[NONCE_TEXT];
};

struct pellucid_listener {
    int sockets[2]; /* TCP and local */
    char address[300], local[64], machine[64];
    char *token;
    int has_ucx;
    struct stranger strangers[MOST_STRANGERS];
    int stranger_count;
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
        if (fd >= 0)
            close(fd);
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
    TRY(lane_check(options != NULL ? options->lane : NULL, error));
    TRY(random_hex(8, mark, error));
    if (address.is_secure)
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
    /* UCX is loaded only where it is of use: it takes over some of the program's signals. */
    listener->has_ucx = (is_lane(listener->options.lane, UCX) || has_rdma()) && ucx_is_there();
    int code = listener->token == NULL    ? no_memory(error, 0)
               : listener->sockets[0] < 0 ? PELLUCID_INVALID
                                          : PELLUCID_OK;
    if (code != PELLUCID_OK) {
        pellucid_listener_close(listener);
        return code;
    }
    *result = listener;
    return PELLUCID_OK;
}

const char *pellucid_listener_address(const pellucid_listener *listener) { return listener->address; }

static void dismiss(pellucid_listener *listener, int which);

void pellucid_listener_close(pellucid_listener *listener) {
    if (listener == NULL)
        return;
    for (int i = 0; i < 2; i++)
        if (listener->sockets[i] >= 0)
            close(listener->sockets[i]);
    for (int i = 0; i < listener->waiting_count; i++)
        channel_close(&listener->waiting[i]);
    while (listener->stranger_count > 0)
        dismiss(listener, 0);
    transfer_free(&listener->partial);
    watch_end(&listener->watch);
    free(listener->token);
    free(listener);
}

/* The rest of the listening end's part of the handshake, when what a stranger says is here. transfer: which one a
 * stream belongs to; empty for a control connection. */
static int admit(pellucid_listener *listener, struct stranger *stranger, char transfer[TRANSFER_TEXT],
                 pellucid_error *error) {
    char theirs[80], shown[80], proof[NONCE_TEXT], role[16];
    struct channel *channel = &stranger->channel;
    struct message opening;
    struct text head = {0};
    TRY(hear(channel, &opening, 0, error));
    copy_field(&opening, "nonce", theirs, sizeof theirs);
    copy_field(&opening, "proof", shown, sizeof shown);
    copy_field(&opening, "role", role, sizeof role);
    copy_field(&opening, "transfer", transfer, TRANSFER_TEXT);
    message_free(&opening);
    prove(listener->token, "connect", stranger->nonce, theirs, proof);
    if (!same_secret(shown, proof)) {
        int code = wrong_token(error, "The receiving end");
        say_refusal(channel, error);
        return code;
    }
    prove(listener->token, "listen", stranger->nonce, theirs, proof);
    add(&head, "welcome\nproof: %s\nlanes: shm tcp%s\nmachine: %s\nlocal: %s%s", proof, listener->has_ucx ? " ucx" : "",
        listener->machine, listener->local, has_rdma() ? "\nrdma: yes" : "");
    if (strcmp(role, "stream") != 0)
        transfer[0] = 0;
    return say(channel, &head, "", 0, -1, error);
}

static void dismiss(pellucid_listener *listener, int which) {
    channel_close(&listener->strangers[which].channel);
    listener->strangers[which] = listener->strangers[--listener->stranger_count];
}

/* Greet somebody who connected. Where too many say nothing, one of them makes room. */
static void greet(pellucid_listener *listener, int fd) {
    struct text head = {0};
    if (listener->stranger_count == MOST_STRANGERS)
        dismiss(listener, 0);
    struct stranger *stranger = &listener->strangers[listener->stranger_count++];
    channel_start(&stranger->channel, fd, &listener->watch);
    stranger->channel.deadline = now_s() + HANDSHAKE_S;
    int code = random_hex(32, stranger->nonce, NULL);
    add(&head, "pellucid-transfer\nversion: 1\nnonce: %s", code == PELLUCID_OK ? stranger->nonce : "");
    if (code != PELLUCID_OK)
        free(head.at);
    else
        code = say(&stranger->channel, &head, "", 0, -1, NULL);
    if (code != PELLUCID_OK)
        dismiss(listener, listener->stranger_count - 1);
}

/* Whether all that a stranger has to say is here (1), a part of it (0), or nothing good (-1): nobody else has to wait
 * for somebody who says a byte now and then. */
static int opening_is_here(const struct stranger *stranger) {
    char peek[12 + LONGEST_OPENING];
    uint32_t lengths[2];
    ssize_t got = recv(stranger->channel.fd, peek, sizeof peek, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got < 12)
        return got <= 0 ? -1 : 0;
    memcpy(lengths, peek + 4, sizeof lengths);
    if (memcmp(peek, "PLT1", 4) != 0 || lengths[0] > LONGEST_OPENING || lengths[1] > LONGEST_OPENING - lengths[0])
        return -1;
    return (size_t)got >= 12 + (size_t)lengths[0] + lengths[1];
}

/* Look at those who are at the door. PELLUCID_OK where one showed the token, and is let in. */
static int look_at_strangers(pellucid_listener *listener, struct channel *channel, char transfer[TRANSFER_TEXT]) {
    for (int i = listener->stranger_count - 1; i >= 0; i--) {
        struct stranger *stranger = &listener->strangers[i];
        int state = opening_is_here(stranger);
        if (state == 0 && now_s() < stranger->channel.deadline)
            continue;
        if (state == 1 && admit(listener, stranger, transfer, &(pellucid_error){0}) == PELLUCID_OK) {
            *channel = stranger->channel;
            channel->deadline = 0;
            *stranger = listener->strangers[--listener->stranger_count];
            return PELLUCID_OK;
        }
        dismiss(listener, i);
    }
    return PELLUCID_TIMEOUT;
}

/* Accept one connection that shows the token; PELLUCID_TIMEOUT where none comes within a turn. Strangers are let go. */
static int accept_one(pellucid_listener *listener, struct channel *channel, char transfer[TRANSFER_TEXT],
                      pellucid_error *error) {
    struct pollfd waiting[2 + MOST_STRANGERS] = {{listener->sockets[0], POLLIN, 0}, {listener->sockets[1], POLLIN, 0}};
    for (int i = 0; i < listener->stranger_count; i++)
        waiting[2 + i] = (struct pollfd){listener->strangers[i].channel.fd, POLLIN, 0};
    int has_any = poll(waiting, (nfds_t)(2 + listener->stranger_count), POLL_MS) > 0;
    for (int i = 0; has_any && i < 2; i++) {
        int fd = waiting[i].revents & POLLIN ? accept4(waiting[i].fd, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd >= 0)
            greet(listener, fd);
    }
    if (look_at_strangers(listener, channel, transfer) == PELLUCID_OK)
        return PELLUCID_OK;
    if (has_any && !(waiting[0].revents | waiting[1].revents))
        pause_s(0.002); /* what came was not all of it */
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
        if (__builtin_mul_overflow(bytes, shape[i], &bytes))
            return against_rules(error, "it sent a block that is too large");
    }
    if (bytes != head->piece.length || bytes > LARGEST_BLOCK)
        return against_rules(error, "it sent a block of another size than it said");
    return PELLUCID_OK;
}

static int receive_blocks(struct work *work, struct channel *channel, pellucid_error *error) {
    struct transfer *transfer = work->transfer;
    uint8_t *block = NULL;
    size_t room = 0;
    int code = PELLUCID_OK;
    while (code == PELLUCID_OK) {
        struct block_head head;
        uint64_t start[3], shape[3];
        code = move(channel, &head, sizeof head, 0, 1, error);
        if (code != PELLUCID_OK || head.piece.number == LAST)
            break;
        code = checked_block(transfer, &head, start, shape, error);
        if (code == PELLUCID_OK && head.piece.length > room) {
            free(block);
            block = malloc(head.piece.length);
            room = block == NULL ? 0 : head.piece.length;
            code = block == NULL ? no_memory(error, head.piece.length) : PELLUCID_OK;
        }
        code = code != PELLUCID_OK ? code : read_bytes(channel, block, head.piece.length, error);
        if (code != PELLUCID_OK)
            break;
        uint32_t answer[2] = {head.piece.number, checksum(transfer, block, head.piece.length) == head.piece.checksum};
        if (answer[1])
            place_block(&transfer->array, block, start, shape);
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
    if (link->lane != SHM)
        touch(transfer);
    TRY(say(&link->control, &head, "", 0, link->lane == SHM ? transfer->descriptor : -1, error));
    if (link->lane == SHM) {
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
    if (partial->array.data != NULL && is_same_array(partial, transfer)) {
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
    int code = is_kind(&announced, "announce")
                   ? read_announcement(&announced, transfer, error)
                   : fail(error, PELLUCID_REFUSED, "Ask a running instance.", "Nothing can be retrieved here.");
    copy_field(&announced, "lane", lane, sizeof lane);
    message_free(&announced);
    TRY(code);
    link->lane = is_lane(lane, SHM) ? SHM : is_lane(lane, UCX) ? UCX : TCP;
    if (!is_lane(lane, TCP) && !(link->lane == SHM && link->control.is_local) &&
        !(link->lane == UCX && listener->has_ucx && !transfer->is_stream))
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

/* ---- JSON: just enough to read answers, and to write requests ---------------------------------------------------- */

static const char *json_blank(const char *at) { return at + strspn(at, " \t\r\n"); }

/* Behind a text that begins at a quotation mark; NULL where it has no end. */
static const char *json_behind_text(const char *at) {
    for (at++; *at != 0 && *at != '"'; at++)
        if (*at == '\\' && *++at == 0)
            return NULL;
    return *at == '"' ? at + 1 : NULL;
}

/* Behind any value; NULL where it has no end. */
static const char *json_behind(const char *at) {
    int depth = 0;
    do {
        at = json_blank(at);
        if (*at == '"') {
            at = json_behind_text(at);
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

/* The value behind a key of an object, not of those inside it; NULL where there is none. */
static const char *json_find(const char *json, const char *key) {
    size_t length = strlen(key);
    const char *at = json == NULL ? NULL : json_blank(json);
    if (at == NULL || *at++ != '{')
        return NULL;
    for (;;) {
        at = json_blank(at);
        const char *name = at, *behind = *at == '"' ? json_behind_text(at) : NULL;
        if (behind == NULL || *(at = json_blank(behind)) != ':')
            return NULL;
        at = json_blank(at + 1);
        if ((size_t)(behind - name) == length + 2 && strncmp(name + 1, key, length) == 0)
            return at;
        at = json_behind(at);
        if (at == NULL || *(at = json_blank(at)) != ',')
            return NULL;
        at++;
    }
}

/* Four digits behind \u; negative where they are none. */
static int json_unit(const char *at) {
    int unit = 0;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)at[i]))
            return -1;
        unit = 16 * unit + (isdigit((unsigned char)at[i]) ? at[i] - '0' : tolower((unsigned char)at[i]) - 'a' + 10);
    }
    return unit;
}

static char *put_character(char *to, unsigned long character) {
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

/* A text, unescaped; NULL where the value is no text. To be freed. It never gets longer than what is read. */
static char *json_copy(const char *at) {
    const char *behind = at != NULL && *at == '"' ? json_behind_text(at) : NULL;
    char *text = behind == NULL ? NULL : malloc((size_t)(behind - at)), *to = text;
    if (text == NULL)
        return NULL;
    for (at++; at < behind - 1; at++) {
        if (*at != '\\') {
            *to++ = *at;
            continue;
        }
        int unit = *++at == 'u' ? json_unit(at + 1) : -1;
        if (unit < 0) {
            static const char escapes[] = "nrtbf", meant[] = "\n\r\t\b\f";
            const char *found = strchr(escapes, *at);
            *to++ = found != NULL ? meant[found - escapes] : *at;
            continue;
        }
        at += 4;
        unsigned long character = (unsigned long)unit;
        int low = unit >= 0xD800 && unit < 0xDC00 && at[1] == '\\' && at[2] == 'u' ? json_unit(at + 3) : -1;
        if (low >= 0xDC00 && low < 0xE000) {
            character = 0x10000 + ((character - 0xD800) << 10) + ((unsigned long)low - 0xDC00);
            at += 6;
        }
        to = put_character(to, character);
    }
    *to = 0;
    return text;
}

static char *json_text(const char *json, const char *key) { return json_copy(json_find(json, key)); }

/* Copy a text into room bytes; an empty one where there is none, or it is too long. */
static void json_text_into(const char *json, const char *key, char *to, size_t room) {
    char *text = json_text(json, key);
    snprintf(to, room, "%s", text != NULL && strlen(text) < room ? text : "");
    free(text);
}

/* A text as JSON, between quotation marks. */
static void add_json(struct text *text, const char *value) {
    add(text, "\"");
    for (const unsigned char *at = (const unsigned char *)(value != NULL ? value : ""); *at; at++)
        add(text, *at == '"' || *at == '\\' ? "\\%c" : *at < 32 ? "\\u%04x" : "%c", *at);
    add(text, "\"");
}

/* ---- HTTP and https ---------------------------------------------------------------------------------------------- */

enum { HTTP_PIECE = 32 << 20, LONGEST_LINE = 8192, MOST_LINES = 100, LONGEST_ANSWER = 64 << 20, READ_AHEAD = 16384 };

/* Where requests go: a viewer or an agent. */
struct place {
    struct address address;
    char prefix[512]; /* of every path */
    char *token;      /* that the transport asks for; the viewer tells it */
    char *code;       /* in the link: works once; NULL where it has none */
    char *bearer;     /* what a request shows: what a link has, or its code was exchanged for, or this person's at a Hub */
};

/* An answer, to be freed. */
struct answer {
    int status;
    char *body; /* with a 0 behind it */
    size_t length, room;
};

struct reader {
    struct channel *channel;
    char bytes[READ_AHEAD];
    size_t at, end;
};

static void place_free(struct place *place) {
    free(place->token);
    free(place->code);
    free(place->bearer);
    memset(place, 0, sizeof *place);
}

/* Read whatever is there, at least a byte. is_over: nothing more comes. */
static int refill(struct reader *reader, int *is_over, pellucid_error *error) {
    double since = now_s();
    ssize_t got;
    while ((got = some(reader->channel, reader->bytes, sizeof reader->bytes, 0)) < 0)
        TRY(wait_on(reader->channel, since, error));
    reader->at = 0;
    reader->end = (size_t)got;
    *is_over = got == 0;
    return PELLUCID_OK;
}

static int read_line(struct reader *reader, char line[LONGEST_LINE], pellucid_error *error) {
    for (size_t length = 0; length < LONGEST_LINE;) {
        int is_over = 0;
        if (reader->at == reader->end)
            TRY(refill(reader, &is_over, error));
        if (is_over)
            return broken(error, "the connection ended in the middle of an answer");
        char next = reader->bytes[reader->at++];
        if (next == '\n') {
            line[length - (length > 0 && line[length - 1] == '\r')] = 0;
            return PELLUCID_OK;
        }
        line[length++] = next;
    }
    return against_rules(error, "a line of its answer is too long");
}

/* Room for so many more bytes, and a 0; the memory grows with what comes, whatever was announced. */
static int make_room(struct answer *answer, size_t more, uint64_t limit, pellucid_error *error) {
    size_t needed = answer->length + more;
    if (needed > limit)
        return against_rules(error, "its answer is larger than what was asked for");
    if (needed + 1 > answer->room) {
        size_t room = 2 * needed + 1;
        char *larger = realloc(answer->body, room);
        if (larger == NULL)
            return no_memory(error, room);
        answer->body = larger;
        answer->room = room;
    }
    return PELLUCID_OK;
}

/* So many bytes of the body; up to the end of the connection with UINT64_MAX. */
static int read_part(struct reader *reader, uint64_t count, struct answer *answer, uint64_t limit,
                     pellucid_error *error) {
    while (count > 0) {
        int is_over = 0;
        if (reader->at == reader->end)
            TRY(refill(reader, &is_over, error));
        if (is_over)
            return count == UINT64_MAX ? PELLUCID_OK : broken(error, "the connection ended in the middle of an answer");
        size_t here = reader->end - reader->at;
        here = here < count ? here : (size_t)count;
        TRY(make_room(answer, here, limit, error));
        memcpy(answer->body + answer->length, reader->bytes + reader->at, here);
        answer->length += here;
        reader->at += here;
        count -= count == UINT64_MAX ? 0 : here;
    }
    return PELLUCID_OK;
}

static int read_chunks(struct reader *reader, struct answer *answer, uint64_t limit, pellucid_error *error) {
    char line[LONGEST_LINE];
    for (;;) {
        TRY(read_line(reader, line, error));
        size_t digits = strspn(line, "0123456789abcdefABCDEF");
        if (digits == 0 || digits > 15 || strchr("; ", line[digits]) == NULL)
            return against_rules(error, "its answer is cut into pieces of no size");
        uint64_t size = strtoull(line, NULL, 16);
        if (size == 0)
            break;
        TRY(read_part(reader, size, answer, limit, error));
        TRY(read_line(reader, line, error));
        if (line[0] != 0)
            return against_rules(error, "its answer is longer than it says");
    }
    for (int i = 0; i < MOST_LINES; i++) { /* what may come behind the last one */
        TRY(read_line(reader, line, error));
        if (line[0] == 0)
            return PELLUCID_OK;
    }
    return against_rules(error, "its answer has no end");
}

/* The head of an answer. length: of the body; UINT64_MAX: up to the end of the connection. */
static int read_http_head(struct reader *reader, struct answer *answer, uint64_t *length, int *is_chunked,
                          pellucid_error *error) {
    char line[LONGEST_LINE];
    TRY(read_line(reader, line, error));
    if (strncmp(line, "HTTP/1.", 7) != 0 || sscanf(line + 8, " %3d", &answer->status) != 1 || answer->status < 100)
        return against_rules(error, "it does not speak HTTP");
    *length = UINT64_MAX;
    *is_chunked = 0;
    for (int i = 0; i < MOST_LINES; i++) {
        TRY(read_line(reader, line, error));
        if (line[0] == 0)
            return PELLUCID_OK;
        if (strncasecmp(line, "content-length:", 15) == 0) {
            const char *number = json_blank(line + 15);
            if (!read_number(number, number + strlen(number), length))
                return against_rules(error, "its answer has no length");
        }
        if (strncasecmp(line, "transfer-encoding:", 18) == 0)
            *is_chunked = strcasestr(line, "chunked") != NULL;
    }
    return against_rules(error, "the head of its answer has no end");
}

static int read_http(struct channel *channel, struct answer *answer, uint64_t limit, pellucid_error *error) {
    struct reader *reader = calloc(1, sizeof *reader);
    uint64_t length = 0;
    int is_chunked = 0, code = reader == NULL ? no_memory(error, sizeof *reader) : PELLUCID_OK;
    if (code == PELLUCID_OK) {
        reader->channel = channel;
        do /* 1xx: the answer itself comes later */
            code = read_http_head(reader, answer, &length, &is_chunked, error);
        while (code == PELLUCID_OK && answer->status < 200);
    }
    /* Refusals may be longer than the answer that was expected. */
    limit = answer->status >= 300 ? LONGEST_ANSWER : limit;
    if (code == PELLUCID_OK && answer->status != 204)
        code = is_chunked ? read_chunks(reader, answer, limit, error) : read_part(reader, length, answer, limit, error);
    code = code != PELLUCID_OK ? code : make_room(answer, 0, UINT64_MAX, error);
    if (code == PELLUCID_OK)
        answer->body[answer->length] = 0;
    free(reader);
    return code;
}

/* The refusal that an answer stands for. */
static int http_refusal(const struct answer *answer, pellucid_error *error) {
    char *what = json_text(answer->body, "what"), *remedy = json_text(answer->body, "do");
    char *kind = json_text(answer->body, "kind");
    int code = kind != NULL ? code_of(kind) : answer->status == 403 ? PELLUCID_TOKEN : PELLUCID_REFUSED;
    if (what != NULL)
        fail(error, code, remedy != NULL ? remedy : "", "%s", what);
    else if (answer->status == 403)
        fail(error, code, "Use a fresh link: pellucid open and pellucid view give one.",
             "The viewer does not know this link.");
    else
        fail(error, code, "Check that the address is a viewer's.", "The viewer answered with status %d.",
             answer->status);
    free(what);
    free(remedy);
    free(kind);
    return code;
}

static int write_request(const struct place *place, struct channel *channel, const char *method, const char *path,
                         const void *body, size_t length, pellucid_error *error) {
    struct text head = {0};
    int is_v6 = strchr(place->address.host, ':') != NULL;
    add(&head, "%s %s%s HTTP/1.1\r\nHost: %s%s%s:%s\r\nConnection: close\r\n", method, place->prefix, path,
        is_v6 ? "[" : "", place->address.host, is_v6 ? "]" : "", place->address.port);
    if (place->bearer[0])
        add(&head, "Authorization: Bearer %s\r\n", place->bearer);
    add(&head, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n", length);
    int code = head.is_lost ? no_memory(error, length) : write_bytes(channel, head.at, head.length, error);
    free(head.at);
    return code != PELLUCID_OK ? code : write_bytes(channel, body, length, error);
}

/* One request. limit: of the answer's bytes. answer: to be freed by the caller where it succeeds. */
static int request(const struct place *place, struct watch *watch, const char *method, const char *path,
                   const void *body, size_t length, uint64_t limit, struct answer *answer, pellucid_error *error) {
    struct channel channel;
    memset(answer, 0, sizeof *answer);
    TRY(connect_to(&place->address, watch, &channel, error));
    int code = write_request(place, &channel, method, path, body, length, error);
    if (code == PELLUCID_OK || code == PELLUCID_BROKEN) { /* who refuses early does not read on, but says why */
        pellucid_error unheard;
        int heard = read_http(&channel, answer, limit, code == PELLUCID_OK ? error : &unheard);
        code = code == PELLUCID_OK || heard == PELLUCID_OK ? heard : code;
    }
    channel_close(&channel);
    if (code == PELLUCID_OK && answer->status >= 300)
        code = http_refusal(answer, error);
    if (code != PELLUCID_OK) {
        free(answer->body);
        memset(answer, 0, sizeof *answer);
    }
    return code;
}

/* A request whose body is JSON, which is freed. answer: NULL where nobody wants it. */
static int ask(const struct place *place, struct watch *watch, const char *method, const char *path, struct text *body,
               struct answer *answer, pellucid_error *error) {
    struct answer unused;
    int is_lost = body != NULL && body->is_lost;
    int code = is_lost
                   ? no_memory(error, body->length)
                   : request(place, watch, method, path, body != NULL ? body->at : "", body != NULL ? body->length : 0,
                             LONGEST_ANSWER, answer != NULL ? answer : &unused, error);
    if (body != NULL)
        free(body->at);
    if (code == PELLUCID_OK && answer == NULL)
        free(unused.body);
    return code;
}

/* The value of a query, up to what ends it; NULL where there is none. */
static const char *query_value(const char *query, const char *key, size_t *length) {
    size_t key_length = strlen(key);
    while (query != NULL) {
        query++;
        if (strncmp(query, key, key_length) == 0 && query[key_length] == '=') {
            *length = strcspn(query + key_length + 1, "&#");
            return query + key_length + 1;
        }
        query = strchr(query, '&');
    }
    return NULL;
}

static int no_url(pellucid_error *error) {
    return fail(error, PELLUCID_INVALID, "Give the whole link, with #code= or #share= and what follows.",
                "This is not a link to a viewer.");
}

/* "https://host:port/prefix/#share=...&pin=...", or with code=. bearer: NULL for what the link has. */
static int read_url(const char *url, const char *bearer, struct place *place, pellucid_error *error) {
    int is_secure = url != NULL && strncmp(url, "https://", 8) == 0;
    const char *rest = is_secure ? url + 8 : url != NULL && strncmp(url, "http://", 7) == 0 ? url + 7 : "";
    size_t host = strcspn(rest, "/?#"), share_length = 0, code_length = 0, pin_length = 0;
    const char *path = rest + host, *fragment = strchr(rest, '#'),
               *share = query_value(fragment, "share", &share_length),
               *code = query_value(fragment, "code", &code_length), *pin = query_value(fragment, "pin", &pin_length);
    size_t prefix = strcspn(path, "?#");
    char where[300];
    while (prefix > 0 && path[prefix - 1] == '/')
        prefix--;
    if (rest[strcspn(rest, " \t\r\n")] != 0 || host == 0 || host > sizeof where - 5 || prefix >= sizeof place->prefix)
        return no_url(error);
    if (share_length == 0 && code_length == 0 && bearer == NULL)
        return no_url(error);
    snprintf(where, sizeof where, "%.*s", (int)host, rest);
    const char *colon = strrchr(where, ':');
    if (colon == NULL || strchr(colon, ']') != NULL)
        strcat(where, is_secure ? ":443" : ":80");
    if (address_read(where, &place->address, NULL) != PELLUCID_OK)
        return no_url(error);
    place->address.is_secure = is_secure;
    if (pin_length == 64 && strspn(pin, "0123456789abcdef") >= 64)
        snprintf(place->address.pin, sizeof place->address.pin, "%.64s", pin);
    memcpy(place->prefix, path, prefix);
    place->token = strdup("");
    place->code = bearer == NULL && share_length == 0 ? strndup(code, code_length) : NULL;
    place->bearer = bearer != NULL ? strdup(bearer) : strndup(share != NULL ? share : "", share_length);
    return place->token != NULL && place->bearer != NULL ? PELLUCID_OK : no_memory(error, share_length);
}

/* The address of a place's pages, to be freed; "" behind it where there is no memory. */
static void add_place(struct text *text, const struct place *place) {
    int is_v6 = strchr(place->address.host, ':') != NULL;
    add(text, "%s://%s%s%s:%s%s/", place->address.is_secure ? "https" : "http", is_v6 ? "[" : "", place->address.host,
        is_v6 ? "]" : "", place->address.port, place->prefix);
}

/* Exchange the code of a link, which works once, for what requests show from then on. */
static int use_code(struct place *place, struct watch *watch, pellucid_error *error) {
    struct text body = {0}, page = {0};
    struct answer answer;
    if (place->code == NULL)
        return PELLUCID_OK;
    add_place(&page, place);
    add(&body, "{\"code\": ");
    add_json(&body, place->code);
    add(&body, ", \"address\": ");
    add_json(&body, page.is_lost ? "" : page.at);
    add(&body, "}");
    free(page.at);
    TRY(ask(place, watch, "POST", "/api/session", &body, &answer, error));
    char *token = json_text(answer.body, "token");
    free(answer.body);
    if (token == NULL)
        return against_rules(error, "the viewer's answer has no token");
    free(place->bearer);
    free(place->code);
    place->bearer = token;
    place->code = NULL;
    return PELLUCID_OK;
}

/* The address of the transport behind a page. */
static int web_address(const struct place *place, struct address *address, pellucid_error *error) {
    *address = place->address;
    address->is_web = 1;
    memcpy(address->path, place->prefix, sizeof address->path);
    int length = snprintf(address->bearer, sizeof address->bearer, "%s", place->bearer);
    return length < (int)sizeof address->bearer ? PELLUCID_OK : no_url(error);
}

static int find_address(const char *text, const char *token, struct address *address, pellucid_error *error) {
    struct place place = {0};
    if (text == NULL || (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0))
        return address_read(text, address, error);
    int code = token_check(token, error);
    code = code != PELLUCID_OK ? code : read_url(text, token, &place, error);
    code = code != PELLUCID_OK ? code : web_address(&place, address, error);
    place_free(&place);
    return code;
}

/* ---- The agent: found, or started where none is there ------------------------------------------------------------ */

static const char WORD[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
enum { LONGEST_FILE = 1 << 20, AGENT_TRIES = 100, START_S = 180, ASK_AGAIN_S = 30, HUB_START_S = 120 };

/* All of a small file, to be freed; NULL where there is none. */
static char *read_file(const char *path) {
    FILE *file = fopen(path, "re");
    char *content = file == NULL ? NULL : malloc(LONGEST_FILE);
    if (content != NULL)
        content[fread(content, 1, LONGEST_FILE - 1, file)] = 0;
    if (file != NULL)
        fclose(file);
    return content;
}

static void home_folder(const char *variable, const char *otherwise, char *path, size_t room) {
    const char *named = getenv(variable), *home = getenv("HOME");
    if (named != NULL && named[0] == '/')
        snprintf(path, room, "%s", named);
    else
        snprintf(path, room, "%s/%s", home != NULL ? home : "", otherwise);
}

/* A path of the settings, where ~ stands for the home folder. */
static void expand(const char *given, char *path, size_t room) {
    const char *home = getenv("HOME");
    if (given[0] == '~' && (given[1] == '/' || given[1] == 0) && home != NULL)
        snprintf(path, room, "%s%s", home, given + 1);
    else
        snprintf(path, room, "%s", given);
}

/* state_folder = "..." of the settings file; an empty text where it says nothing. */
static void folder_in_settings(char *path, size_t room) {
    char file[4096], *content, *save = NULL;
    const char *named = getenv("PELLUCID_CONFIG");
    path[0] = 0;
    if (named != NULL && named[0]) {
        expand(named, file, sizeof file);
    } else {
        home_folder("XDG_CONFIG_HOME", ".config", file, sizeof file - 32);
        strcat(file, "/pellucid/config.toml");
    }
    content = read_file(file);
    for (char *line = content == NULL ? NULL : strtok_r(content, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char value[4096];
        if (sscanf(line, " state_folder = \"%4095[^\"]\"", value) == 1 ||
            sscanf(line, " state_folder = '%4095[^']'", value) == 1)
            expand(value, path, room);
    }
    free(content);
}

/* Where this person's records are: as pellucid.settings finds it. */
static void state_folder(char *path, size_t room) {
    const char *named = getenv("PELLUCID_STATE_FOLDER");
    if (named != NULL && named[0]) {
        expand(named, path, room);
        return;
    }
    folder_in_settings(path, room);
    if (path[0] == 0) {
        home_folder("XDG_STATE_HOME", ".local/state", path, room - 16);
        strcat(path, "/pellucid");
    }
}

/* Whether a process runs and is the one that began then: numbers are used again. */
static int is_alive(long pid, long long birth) {
    char path[64], state = 0;
    long long began = -1;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    char *content = read_file(path), *at = content == NULL ? NULL : strrchr(content, ')');
    if (at != NULL)
        sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld", &state,
               &began);
    free(content);
    return began == birth && state != 'Z' && state != 'X';
}

/* The address of the agent that runs on this machine, and its token; NULL where none does. To be freed. */
static void find_agent(const char *folder, char **url, char **token) {
    char path[4200], here[256] = "", host[256], *save = NULL;
    *url = *token = NULL;
    snprintf(path, sizeof path, "%s/agent/agent.json", folder);
    char *content = read_file(path), *process = json_text(content, "process");
    const char *name = process == NULL ? NULL : strtok_r(process, "/", &save);
    const char *pid = name == NULL ? NULL : strtok_r(NULL, "/", &save),
               *birth = pid == NULL ? NULL : strtok_r(NULL, "/", &save);
    snprintf(host, sizeof host, "%s", name != NULL ? name : "");
    gethostname(here, sizeof here - 1);
    int is_here = strcmp(here, host) == 0;
    /* One on another machine may be gone: an agent that is started here finds out, and refuses where it is not. */
    if (birth != NULL && is_here && is_alive(atol(pid), atoll(birth)))
        *url = json_text(content, "url");
    if (*url != NULL && (*url)[0] == 0) { /* it is about to say where it is */
        free(*url);
        *url = NULL;
    }
    if (*url != NULL)
        *token = json_text(content, "token");
    free(process);
    free(content);
}

/* The Python that has Pellucid: the one that is given, else that of the pellucid command, else python3. */
static void find_python(const char *given, char *path, size_t room) {
    const char *folders = getenv("PATH");
    snprintf(path, room, "%s", given != NULL ? given : "python3");
    while (given == NULL && folders != NULL && folders[0]) {
        char command[4096], line[1024] = "";
        int length = (int)strcspn(folders, ":");
        snprintf(command, sizeof command, "%.*s/pellucid", length, folders);
        folders += length + (folders[length] == ':');
        FILE *file = fopen(command, "re");
        int has_line = file != NULL && fgets(line, sizeof line, file) != NULL;
        if (file != NULL)
            fclose(file);
        if (has_line && strncmp(line, "#!/", 3) == 0) {
            line[strcspn(line, " \n")] = 0;
            snprintf(path, room, "%s", line + 2);
            return;
        }
    }
}

/* What an agent that is being started says: "ready", or why not. It outlives this program and is nobody's child. */
static int launch_agent(const char *python, const char *folder, int pipe_end, pid_t *child) {
    char log[4200];
    char *arguments[] = {"/bin/sh", "-c", "\"$0\" -m pellucid.agent.main --ready 3 &", (char *)(uintptr_t)python, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    snprintf(log, sizeof log, "%s/agent/agent.log", folder);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_adddup2(&actions, pipe_end, 3);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int fault = posix_spawn(child, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return fault;
}

/* said: by the agent; empty where it ended without a word. */
static int no_agent(pellucid_error *error, const char *folder, const char *said) {
    char where[600];
    snprintf(where, sizeof where, "%.500s/agent/agent.log says more.", folder);
    return fail(error, PELLUCID_REFUSED,
                "Check that the pellucid command is on the PATH, or give the Python that has it.",
                "The agent could not be started: %.400s", said[0] ? said : where);
}

/* What came through a pipe until its other end was closed. */
static int hear_pipe(int fd, struct watch *watch, char *said, size_t room, pellucid_error *error) {
    double since = now_s();
    size_t length = 0;
    for (ssize_t got = 1; got != 0;) {
        struct pollfd waiting = {fd, POLLIN, 0};
        TRY(advance(watch, 0, error));
        if (now_s() - since > START_S)
            return fail(error, PELLUCID_TIMEOUT, "Try again.", "The agent did not start in time.");
        if (poll(&waiting, 1, POLL_MS) <= 0)
            continue;
        got = read(fd, said + length, room - 1 - length);
        if (got < 0 && errno != EINTR)
            got = 0;
        length += got > 0 ? (size_t)got : 0;
        if (length == room - 1)
            got = 0;
    }
    said[length] = 0;
    return PELLUCID_OK;
}

static int make_folders(const char *path) {
    char part[4300];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = part + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = 0;
        mkdir(part, 0700);
        *slash = '/';
    }
    return mkdir(part, 0700) == 0 || errno == EEXIST;
}

static int start_agent(const char *python, const char *folder, struct watch *watch, pellucid_error *error) {
    char agent[4200], found[4096], said[512] = "";
    int ends[2];
    pid_t child;
    snprintf(agent, sizeof agent, "%s/agent", folder);
    find_python(python, found, sizeof found);
    if (!make_folders(agent) || pipe2(ends, O_CLOEXEC) != 0)
        return no_agent(error, folder, strerror(errno));
    int fault = launch_agent(found, folder, ends[1], &child);
    close(ends[1]);
    int code =
        fault != 0 ? no_agent(error, folder, strerror(fault)) : hear_pipe(ends[0], watch, said, sizeof said, error);
    close(ends[0]);
    while (fault == 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    TRY(code);
    if (strcmp(said, "ready") == 0 || strstr(said, "runs already") != NULL || strstr(said, "at this moment") != NULL)
        return PELLUCID_OK;
    return no_agent(error, folder, said);
}

/* This person at the site's Hub, where "pellucid login" was used. All empty where not; to be freed. */
struct hub {
    char *url, *user, *token;
};

static void hub_free(struct hub *hub) {
    free(hub->url);
    free(hub->user);
    free(hub->token);
    memset(hub, 0, sizeof *hub);
}

static int find_hub(struct hub *hub) {
    char folder[4096], path[4200];
    state_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/hub.json", folder);
    char *content = read_file(path);
    *hub = (struct hub){json_text(content, "url"), json_text(content, "user"), json_text(content, "token")};
    free(content);
    if (hub->url != NULL && hub->user != NULL && hub->token != NULL)
        return 1;
    hub_free(hub);
    return 0;
}

/* A text as part of an address. */
static void add_quoted(struct text *text, const char *value, const char *safe) {
    for (const unsigned char *at = (const unsigned char *)value; *at; at++)
        add(text, isalnum(*at) || strchr(safe, *at) != NULL ? "%c" : "%%%02X", *at);
}

/* The address of this person's agent behind the Hub; to be freed. */
static char *hub_agent(const struct hub *hub) {
    struct text url = {0};
    add(&url, "%s/user/", hub->url);
    add_quoted(&url, hub->user, "-_.~@");
    add(&url, "/");
    if (url.is_lost)
        free(url.at);
    return url.is_lost ? NULL : url.at;
}

/* Start this person's agent behind the Hub, and wait until it is ready. */
static int ensure_hub_agent(const struct hub *hub, struct watch *watch, pellucid_error *error) {
    struct text url = {0}, path = {0};
    struct place place = {0};
    double since = now_s();
    add(&url, "%s/hub/api/", hub->url);
    add(&path, "/users/");
    add_quoted(&path, hub->user, "-_.~@");
    int code = url.is_lost || path.is_lost ? no_memory(error, 0) : read_url(url.at, hub->token, &place, error);
    for (int has_asked = 0, is_ready = 0; code == PELLUCID_OK && !is_ready;) {
        struct answer answer = {0};
        code = ask(&place, watch, "GET", path.at, NULL, &answer, error);
        const char *server = json_find(json_find(answer.body, "servers"), ""), *ready = json_find(server, "ready");
        is_ready = ready != NULL && strncmp(ready, "true", 4) == 0;
        free(answer.body);
        if (code == PELLUCID_OK && server == NULL && !has_asked) {
            size_t length = path.length;
            add(&path, "/server");
            code = path.is_lost ? no_memory(error, 0) : ask(&place, watch, "POST", path.at, NULL, NULL, error);
            path.at[path.length = length] = 0;
            has_asked = 1;
        }
        if (code == PELLUCID_OK && !is_ready && now_s() - since > HUB_START_S)
            code = fail(error, PELLUCID_TIMEOUT, "Look at the Hub in a browser.", "Your agent did not start behind %s.",
                        hub->url);
        if (code == PELLUCID_OK && !is_ready)
            pause_s(0.2);
    }
    place_free(&place);
    free(url.at);
    free(path.at);
    return code;
}

/* The agent that runs, or a new one. url, token: to be freed. */
static int ready_agent(const char *python, struct watch *watch, char **url, char **token, pellucid_error *error) {
    char folder[4096];
    state_folder(folder, sizeof folder);
    for (int i = 0; i < AGENT_TRIES; i++) {
        find_agent(folder, url, token);
        if (*url != NULL)
            return PELLUCID_OK;
        TRY(start_agent(python, folder, watch, error));
        find_agent(folder, url, token);
        if (*url != NULL)
            return PELLUCID_OK;
        pause_s(0.1); /* somebody else's start is under way, and cannot be waited for from here */
    }
    return no_agent(error, folder, "");
}

static void add_member(struct text *body, const char *key, const char *value) {
    if (value == NULL)
        return;
    add(body, ", \"%s\": ", key);
    add_json(body, value);
}

/* What the agent is asked for, as JSON. */
static void add_wish(struct text *body, const pellucid_wish *wish) {
    char folder[4096];
    add(body, "{\"roots\": [");
    add_json(body, getcwd(folder, sizeof folder) != NULL ? folder : "/");
    for (int i = 0; wish->roots != NULL && wish->roots[i] != NULL; i++) {
        add(body, ", ");
        add_json(body, wish->roots[i]);
    }
    locale_t before = speak_plainly();
    add(body, "], \"grace_s\": %.17g", 60 * (wish->grace_minutes > 0 ? wish->grace_minutes : 60));
    uselocale(before);
    if (wish->gpus != 0)
        add(body, ", \"gpus\": %d", wish->gpus < 0 ? 0 : wish->gpus);
    if (wish->shape[0] > 0)
        add(body, ", \"shape\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "], \"dtype\": \"%s\"", wish->shape[0],
            wish->shape[1], wish->shape[2], pellucid_type_name(wish->type));
    if (wish->memory_bytes > 0)
        add(body, ", \"memory_bytes\": %" PRIu64, wish->memory_bytes);
    if (wish->cores > 0)
        add(body, ", \"cores\": %d", wish->cores);
    add_member(body, "device", wish->device);
    add_member(body, "name", wish->name);
    add_member(body, "source", wish->source);
    add(body, ", \"overrides\": {\"options\": null");
    add_member(body, "scheduler", wish->scheduler);
    add_member(body, "partition", wish->partition);
    add_member(body, "account", wish->account);
    add_member(body, "constraint", wish->constraint);
    if (wish->time_limit_minutes > 0)
        add(body, ", \"time_limit_minutes\": %d", wish->time_limit_minutes);
    add(body, "}}");
}

/* A link to a viewer that works once. path: of its page, below the agent's address, with the code behind it. */
static int open_viewer(const struct place *agent, struct watch *watch, const char *id, char path[512],
                       pellucid_error *error) {
    char ask_path[256];
    struct answer opened;
    snprintf(ask_path, sizeof ask_path, "/api/jobs/%s/open", id);
    TRY(ask(agent, watch, "POST", ask_path, NULL, &opened, error));
    json_text_into(opened.body, "path", path, 512);
    free(opened.body);
    return path[0] ? PELLUCID_OK : against_rules(error, "the agent's answer has no path");
}

/* Ask until a viewer can be used. path: as open_viewer gives it. */
static int await_viewer(const struct place *agent, struct watch *watch, struct answer *told, char path[512],
                        pellucid_error *error) {
    double since = now_s();
    for (;;) {
        char id[80], phase[32], last[32], ask_path[256], why[256];
        const char *state = json_find(told->body, "state");
        json_text_into(told->body, "id", id, sizeof id);
        json_text_into(told->body, "path", path, 512);
        json_text_into(state, "phase", phase, sizeof phase);
        json_text_into(state, "last", last, sizeof last);
        json_text_into(state, "reason", why, sizeof why);
        if (id[0] == 0 || phase[0] == 0 || id[strspn(id, WORD)] != 0 || phase[strspn(phase, WORD)] != 0)
            return against_rules(error, "the agent's answer has no id or state");
        if (path[0] && (strcmp(phase, "running") == 0 || strcmp(last, "running") == 0))
            return open_viewer(agent, watch, id, path, error);
        if (strcmp(phase, "ended") == 0 || strcmp(phase, "failed") == 0 || strcmp(phase, "lost") == 0 ||
            strcmp(phase, "ending") == 0)
            return fail(error, PELLUCID_REFUSED, "Look at what it wrote: pellucid logs.", "The viewer is over: %s",
                        why[0] ? why : "it was stopped.");
        TRY(advance(watch, 0, error));
        if (now_s() - since > watch->timeout_s)
            return fail(error, PELLUCID_TIMEOUT, "Allow more time, or look with pellucid list.",
                        "The viewer is %s after %.0f s. %s", phase, now_s() - since, why);
        snprintf(ask_path, sizeof ask_path, "/api/jobs/%s?unlike=%s&wait_s=%d", id, phase, ASK_AGAIN_S);
        free(told->body);
        memset(told, 0, sizeof *told);
        TRY(ask(agent, watch, "GET", ask_path, NULL, told, error));
    }
}

/* ---- Viewers ----------------------------------------------------------------------------------------------------- */

enum { PROBE_S = 3, PROTOCOL = 3 };
enum way { UNKNOWN_WAY, STRAIGHT, OVER_HTTP };

struct pellucid_viewer {
    struct place place;
    char *url;
    char transfer[400]; /* the address of its transport; empty where it has none */
    char socket[108];   /* of those on the same machine; empty */
    enum way way;
    struct address transport; /* as it is reached from here */
    pellucid_options options;
    struct watch watch;
};

/* This person's token at a Hub, where an address is behind it; nobody else is told it. To be freed. */
static char *bearer_for(const char *url) {
    struct hub hub;
    if (url == NULL || !find_hub(&hub))
        return NULL;
    char *agent = hub_agent(&hub), *bearer = NULL;
    if (agent != NULL && strncmp(url, agent, strlen(agent)) == 0)
        bearer = strdup(hub.token);
    free(agent);
    hub_free(&hub);
    return bearer;
}

/* What the viewer says about itself. */
static int greet_viewer(pellucid_viewer *viewer, pellucid_error *error) {
    struct answer about;
    TRY(ask(&viewer->place, &viewer->watch, "GET", "/api/about", NULL, &about, error));
    const char *version = json_behind(about.body) == NULL ? NULL : json_find(about.body, "version");
    int speaks = version == NULL ? -1 : (int)strtol(version, NULL, 10);
    json_text_into(about.body, "transfer", viewer->transfer, sizeof viewer->transfer);
    json_text_into(about.body, "socket", viewer->socket, sizeof viewer->socket);
    char *token = json_text(about.body, "transfer_token");
    free(about.body);
    if (token != NULL) {
        free(viewer->place.token);
        viewer->place.token = token;
    }
    if (speaks == PROTOCOL)
        return PELLUCID_OK;
    if (speaks < 0)
        return fail(error, PELLUCID_UNREACHABLE, "Check that the address is a viewer's.",
                    "Somebody answers who is no viewer.");
    return fail(error, PELLUCID_INVALID, "Use the pellucid.c that came with it.",
                "The viewer has version %d of the protocol, and this program %d.", speaks, PROTOCOL);
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
    char *bearer = bearer_for(url);
    int code = read_url(url, bearer, &viewer->place, error);
    free(bearer);
    if (code == PELLUCID_OK) {
        struct text page = {0};
        add_place(&page, &viewer->place);
        viewer->url = page.at;
        code = page.is_lost ? no_memory(error, 0) : PELLUCID_OK;
    }
    code = code != PELLUCID_OK ? code : lane_check(viewer->options.lane, error);
    code = code != PELLUCID_OK ? code : use_code(&viewer->place, &viewer->watch, error);
    code = code != PELLUCID_OK ? code : greet_viewer(viewer, error);
    if (code != PELLUCID_OK) {
        pellucid_viewer_close(viewer);
        return code;
    }
    *result = viewer;
    return PELLUCID_OK;
}

/* Ask an agent for a viewer. url: the viewer's, to be freed. */
static int ask_agent(const char *agent_url, const char *bearer, const pellucid_wish *wish, struct watch *watch,
                     char **url, pellucid_error *error) {
    static const pellucid_wish nothing;
    struct place agent = {0};
    struct text body = {0}, whole = {0};
    struct answer told = {0};
    char path[512];
    add_wish(&body, wish != NULL ? wish : &nothing);
    int code = read_url(agent_url, bearer, &agent, error);
    if (code != PELLUCID_OK)
        free(body.at);
    code = code != PELLUCID_OK ? code : ask(&agent, watch, "POST", "/api/instances", &body, &told, error);
    code = code != PELLUCID_OK ? code : await_viewer(&agent, watch, &told, path, error);
    free(told.body);
    if (code == PELLUCID_OK) {
        add_place(&whole, &agent);
        add(&whole, "%s", path);
        code = whole.is_lost ? no_memory(error, 0) : PELLUCID_OK;
        *url = whole.at;
    }
    place_free(&agent);
    return code;
}

int pellucid_viewer_start(const pellucid_wish *wish, const pellucid_options *given, pellucid_viewer **result,
                          pellucid_error *error) {
    pellucid_error unused;
    pellucid_options options = with_defaults(given);
    struct watch watch;
    struct hub hub = {0};
    char *agent = NULL, *token = NULL, *url = NULL;
    error = error != NULL ? error : &unused;
    *result = NULL;
    options.timeout_s = given != NULL && given->timeout_s > 0 ? given->timeout_s : 600;
    watch_start(&watch, &options);
    int code;
    if (find_hub(&hub)) {
        code = ensure_hub_agent(&hub, &watch, error);
        agent = code == PELLUCID_OK ? hub_agent(&hub) : NULL;
        code = code == PELLUCID_OK && agent == NULL ? no_memory(error, 0) : code;
    } else {
        code = ready_agent(wish != NULL ? wish->python : NULL, &watch, &agent, &token, error);
    }
    code = code != PELLUCID_OK ? code : ask_agent(agent, token != NULL ? token : hub.token, wish, &watch, &url, error);
    hub_free(&hub);
    watch_end(&watch);
    code = code != PELLUCID_OK ? code : pellucid_viewer_connect(url, given, result, error);
    free(agent);
    free(token);
    free(url);
    return code;
}

void pellucid_viewer_close(pellucid_viewer *viewer) {
    if (viewer == NULL)
        return;
    watch_end(&viewer->watch);
    place_free(&viewer->place);
    free(viewer->url);
    free(viewer);
}

const char *pellucid_viewer_url(const pellucid_viewer *viewer) { return viewer->url; }

int pellucid_viewer_link(pellucid_viewer *viewer, char **link, pellucid_error *error) {
    struct answer answer;
    struct text made = {0};
    *link = NULL;
    TRY(ask(&viewer->place, &viewer->watch, "POST", "/api/codes", NULL, &answer, error));
    char *code = json_text(answer.body, "code");
    const char *pin = viewer->place.address.pin;
    free(answer.body);
    add(&made, "%s#code=%s%s%s", viewer->url, code != NULL ? code : "", pin[0] ? "&pin=" : "", pin);
    free(code);
    *link = made.at;
    return made.is_lost ? no_memory(error, 0) : PELLUCID_OK;
}

int pellucid_viewer_query(pellucid_viewer *viewer, char **json, pellucid_error *error) {
    struct answer answer;
    *json = NULL;
    TRY(ask(&viewer->place, &viewer->watch, "GET", "/api/scene", NULL, &answer, error));
    *json = answer.body;
    return PELLUCID_OK;
}

int pellucid_viewer_shutdown(pellucid_viewer *viewer, pellucid_error *error) {
    return ask(&viewer->place, &viewer->watch, "POST", "/api/shutdown", NULL, NULL, error);
}

/* ---- What a viewer shows ----------------------------------------------------------------------------------------- */

/* Whether the viewer's transport answers at an address; then it is used from now on. */
static int is_reached(pellucid_viewer *viewer, const struct address *there) {
    pellucid_options options = viewer->options;
    struct link *link = calloc(1, sizeof *link);
    options.timeout_s = PROBE_S;
    options.lane = there->is_web ? LANES[PROXY] : LANES[TCP];
    int is_there = link != NULL && call(link, there, viewer->place.token, &options, NULL) == PELLUCID_OK;
    if (is_there) {
        link_close(link);
        viewer->transport = *there;
    }
    free(link);
    return is_there;
}

/* The fastest way for voxels: straight to the viewer's transport (where pages come from is tried first), through the
 * web server that the pages come from, or in single requests where even that cannot be. Found out once. */
static enum way find_way(pellucid_viewer *viewer) {
    struct address told, there;
    if (viewer->way != UNKNOWN_WAY)
        return viewer->way;
    viewer->way = OVER_HTTP;
    if (strlen(viewer->place.token) < 8 || address_read(viewer->transfer, &told, NULL) != PELLUCID_OK)
        return viewer->way;
    there = told;
    memcpy(there.host, viewer->place.address.host, sizeof there.host);
    if (!is_lane(viewer->options.lane, PROXY) && (is_reached(viewer, &there) || is_reached(viewer, &told)))
        viewer->way = STRAIGHT;
    else if (web_address(&viewer->place, &there, NULL) == PELLUCID_OK && is_reached(viewer, &there))
        viewer->way = STRAIGHT;
    return viewer->way;
}

/* A volume as a viewer takes it: bits of truth are drawn as numbers. */
static pellucid_array as_shown(const pellucid_array *volume) {
    pellucid_array shown = *volume;
    shown.type = shown.type == PELLUCID_BOOL ? PELLUCID_UINT8 : shown.type;
    return shown;
}

static const char *how_or_default(const char *how) { return how != NULL ? how : "replace"; }

/* The metadata of an array, with what a viewer is to do with it; to be freed. */
static char *wished_metadata(const char *metadata, const char *how, const char *kind, pellucid_error *error) {
    struct text text = {0};
    const char *rest = json_blank(metadata != NULL ? metadata : "{}"), *end = json_behind(rest);
    if (*rest != '{' || end == NULL || *json_blank(end) != 0) {
        fail(error, PELLUCID_INVALID, "Give a JSON object.", "The metadata is none.");
        return NULL;
    }
    rest = json_blank(rest + 1);
    add(&text, "{\"pellucid\": {\"kind\": \"%s\", \"how\": ", kind);
    add_json(&text, how_or_default(how));
    add(&text, "}%s %s", *rest == '}' ? "" : ",", rest);
    if (text.is_lost) {
        free(text.at);
        no_memory(error, text.length);
        return NULL;
    }
    return text.at;
}

static int volume_check(const pellucid_array *volume, int needs_data, pellucid_error *error) {
    TRY(array_check(volume, needs_data, error));
    if (volume->axes != 3)
        return fail(error, PELLUCID_INVALID, "Give three axes: z, y, x.", "An array of %d axes is no volume.",
                    volume->axes);
    return PELLUCID_OK;
}

static int no_direct_way(pellucid_viewer *viewer, pellucid_error *error) {
    return fail(error, PELLUCID_UNREACHABLE,
                "Use pellucid_viewer_render_volume, which goes through the page's address too.",
                "The viewer's transport at %s cannot be reached from here.",
                viewer->transfer[0] ? viewer->transfer : "no address");
}

static void add_offer(struct text *body, const pellucid_array *volume, const char *how) {
    const uint64_t *shape = volume->shape;
    add(body, "{\"shape\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "], \"dtype\": \"%s\", \"name\": ", shape[0], shape[1],
        shape[2], TYPES[volume->type].wire);
    add_json(body, volume->name);
    add(body, ", \"unit\": ");
    add_json(body, volume->unit);
    add(body, ", \"how\": ");
    add_json(body, how_or_default(how));
    locale_t before = speak_plainly();
    if (volume->spacing[0] != 0)
        add(body, ", \"spacing\": [%.17g, %.17g, %.17g]", volume->spacing[0], volume->spacing[1], volume->spacing[2]);
    uselocale(before);
    add(body, "}");
}

/* Piece by piece, each a request of its own. */
static int render_over_http(pellucid_viewer *viewer, const pellucid_array *volume, const char *how,
                            pellucid_report *report, pellucid_error *error) {
    struct text body = {0};
    struct answer answer;
    char path[128], id[65];
    double since = now_s();
    uint64_t bytes = pellucid_bytes(volume);
    add_offer(&body, volume, how);
    TRY(ask(&viewer->place, &viewer->watch, "POST", "/api/arrays", &body, &answer, error));
    json_text_into(answer.body, "id", id, sizeof id);
    free(answer.body);
    if (id[0] == 0 || id[strspn(id, "0123456789abcdef")] != 0)
        return against_rules(error, "it gave no place for the array");
    viewer->watch.done = 0;
    viewer->watch.total = bytes;
    for (uint64_t offset = 0; offset < bytes; offset += HTTP_PIECE) {
        size_t length = bytes - offset < HTTP_PIECE ? (size_t)(bytes - offset) : HTTP_PIECE;
        snprintf(path, sizeof path, "/api/arrays/%s?offset=%" PRIu64, id, offset);
        TRY(request(&viewer->place, &viewer->watch, "PUT", path, (const uint8_t *)volume->data + offset, length,
                    LONGEST_ANSWER, &answer, error));
        free(answer.body);
        TRY(advance(&viewer->watch, length, error));
    }
    snprintf(path, sizeof path, "/api/arrays/%s/show", id);
    TRY(ask(&viewer->place, &viewer->watch, "POST", path, NULL, NULL, error));
    *report = (pellucid_report){.lane = "http", .streams = 1, .bytes = bytes, .seconds = now_s() - since};
    return PELLUCID_OK;
}

/* Send an array to the viewer's transport. */
static int send_to_viewer(pellucid_viewer *viewer, const pellucid_array *array, const char *how, const char *kind,
                          pellucid_report *report, pellucid_error *error) {
    pellucid_array wished = *array;
    char *metadata = wished_metadata(array->metadata, how, kind, error);
    if (metadata == NULL)
        return PELLUCID_INVALID;
    wished.metadata = metadata;
    int code = send_to(&viewer->transport, viewer->place.token, &wished, &viewer->options, report, error);
    free(metadata);
    return code;
}

int pellucid_viewer_render_volume(pellucid_viewer *viewer, const pellucid_array *volume, const char *how,
                                  pellucid_report *report, pellucid_error *error) {
    pellucid_report unused_report;
    pellucid_error unused_error;
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    TRY(volume_check(volume, 1, error));
    pellucid_array shown = as_shown(volume);
    if (find_way(viewer) == STRAIGHT)
        return send_to_viewer(viewer, &shown, how, "volume", report, error);
    return render_over_http(viewer, &shown, how, report, error);
}

/* What a viewer is told of a volume whose voxels come later. Its metadata is the caller's to free. */
static int wish_volume(pellucid_viewer *viewer, const pellucid_array *volume, const char *how, pellucid_array *wished,
                       pellucid_error *error) {
    TRY(volume_check(volume, 0, error));
    if (find_way(viewer) != STRAIGHT)
        return no_direct_way(viewer, error);
    *wished = as_shown(volume);
    wished->metadata = wished_metadata(volume->metadata, how, "volume", error);
    return wished->metadata != NULL ? PELLUCID_OK : PELLUCID_INVALID;
}

int pellucid_viewer_allocate(pellucid_viewer *viewer, pellucid_array *volume, const char *how,
                             pellucid_allocation **allocation, pellucid_error *error) {
    pellucid_error unused;
    error = error != NULL ? error : &unused;
    *allocation = NULL;
    pellucid_array wished;
    TRY(wish_volume(viewer, volume, how, &wished, error));
    int code = allocate_at(&viewer->transport, viewer->place.token, &wished, &viewer->options, allocation, error);
    if (code == PELLUCID_OK)
        volume->data = wished.data;
    free((void *)wished.metadata);
    return code;
}

int pellucid_viewer_stream(pellucid_viewer *viewer, const pellucid_array *volume, const char *how,
                           pellucid_stream **stream, pellucid_error *error) {
    pellucid_error unused;
    error = error != NULL ? error : &unused;
    *stream = NULL;
    pellucid_array wished;
    TRY(wish_volume(viewer, volume, how, &wished, error));
    int code = stream_to(&viewer->transport, viewer->place.token, &wished, &viewer->options, stream, error);
    free((void *)wished.metadata);
    return code;
}

/* A message of a Line (workers/line.py): its length in four bytes, then JSON. */
static int ask_socket(struct channel *channel, const struct text *body, pellucid_error *error) {
    uint32_t length = (uint32_t)body->length;
    struct answer answer = {0};
    TRY(write_bytes(channel, &length, sizeof length, error));
    TRY(write_bytes(channel, body->at, body->length, error));
    TRY(read_bytes(channel, &length, sizeof length, error));
    if (length > LONGEST_ANSWER)
        return against_rules(error, "its answer is too long");
    TRY(make_room(&answer, length, LONGEST_ANSWER, error));
    int code = read_bytes(channel, answer.body, length, error);
    answer.body[code == PELLUCID_OK ? length : 0] = 0;
    if (code == PELLUCID_OK && json_find(answer.body, "what") != NULL)
        code = http_refusal(&answer, error);
    free(answer.body);
    return code;
}

/* A connection to the socket that the viewer has for programs of its own person on its machine. */
static int connect_to_socket(pellucid_viewer *viewer, struct channel *channel) {
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    const char *name = strrchr(viewer->socket, '/'); /* whoever answers there must not choose any socket of ours */
    int is_named = name != NULL && strcmp(name, "/arrays.socket") == 0;
    int fd = is_named ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return 0;
    snprintf(local.sun_path, sizeof local.sun_path, "%.107s", viewer->socket);
    if (connect(fd, (struct sockaddr *)&local, sizeof local) != 0) {
        close(fd);
        return 0;
    }
    channel_start(channel, fd, &viewer->watch);
    return 1;
}

int pellucid_viewer_load(pellucid_viewer *viewer, const char *path, const char *how, pellucid_error *error) {
    pellucid_error unused;
    struct text body = {0};
    struct channel channel;
    char folder[4096] = "";
    int is_here = connect_to_socket(viewer, &channel);
    error = error != NULL ? error : &unused;
    if (path != NULL && path[0] != '/' && strstr(path, "://") == NULL && getcwd(folder, sizeof folder) != NULL)
        strncat(folder, "/", sizeof folder - strlen(folder) - 1);
    add(&body, "{");
    if (is_here) {
        add(&body, "\"token\": ");
        add_json(&body, viewer->place.token);
        add(&body, ", \"load\": {");
    }
    struct text whole = {0};
    add(&whole, "%s%s", folder, path != NULL ? path : "");
    add(&body, "\"path\": ");
    add_json(&body, whole.is_lost ? "" : whole.at);
    add(&body, ", \"how\": ");
    add_json(&body, how_or_default(how));
    add(&body, is_here ? "}}" : "}");
    free(whole.at);
    if (!is_here)
        return ask(&viewer->place, &viewer->watch, "POST", "/api/load", &body, NULL, error);
    int code = body.is_lost ? no_memory(error, body.length) : ask_socket(&channel, &body, error);
    channel_close(&channel);
    free(body.at);
    return code;
}

/* Positions and values in rows of four numbers; behind `head` bytes. */
static uint8_t *rows_of_points(size_t head, const float (*positions)[3], const float *values, size_t count) {
    size_t bytes;
    if (__builtin_mul_overflow(count, 4 * sizeof(float), &bytes) || __builtin_add_overflow(bytes, head, &bytes))
        return NULL;
    uint8_t *rows = malloc(bytes);
    for (size_t i = 0; rows != NULL && i < count; i++) {
        float row[4] = {positions[i][0], positions[i][1], positions[i][2], values[i]};
        memcpy(rows + head + i * sizeof row, row, sizeof row);
    }
    return rows;
}

/* As a .npy file, which is uploaded and opened. Its head is padded to 128 bytes. */
static int points_over_http(pellucid_viewer *viewer, uint8_t *file, size_t count, const char *how,
                            pellucid_error *error) {
    char mark[17], path[64];
    struct answer answer;
    TRY(random_hex(8, mark, error));
    memset(file, ' ', NPY_HEAD);
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    char *end = (char *)file + 10;
    end += snprintf(end, NPY_HEAD - 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, 4), }", count);
    *end = ' ';
    file[NPY_HEAD - 1] = '\n';
    snprintf(path, sizeof path, "/api/upload?name=points-%s.npy", mark);
    TRY(request(&viewer->place, &viewer->watch, "PUT", path, file, NPY_HEAD + count * 4 * sizeof(float), LONGEST_ANSWER,
                &answer, error));
    char *place = json_text(answer.body, "path");
    free(answer.body);
    int code =
        place == NULL ? against_rules(error, "it gave no path") : pellucid_viewer_load(viewer, place, how, error);
    free(place);
    return code;
}

int pellucid_viewer_render_points(pellucid_viewer *viewer, const float (*positions)[3], const float *values,
                                  size_t count, const char *how, pellucid_error *error) {
    pellucid_error unused;
    error = error != NULL ? error : &unused;
    if (count == 0)
        return fail(error, PELLUCID_INVALID, "Give one or more.", "There are no points.");
    uint8_t *rows = rows_of_points(NPY_HEAD, positions, values, count);
    if (rows == NULL)
        return no_memory(error, count);
    pellucid_array array = {
        .data = rows + NPY_HEAD, .axes = 2, .shape = {count, 4}, .type = PELLUCID_FLOAT32, .name = "points"};
    int code = find_way(viewer) == STRAIGHT ? send_to_viewer(viewer, &array, how, "points", NULL, error)
                                            : points_over_http(viewer, rows, count, how, error);
    free(rows);
    return code;
}

int pellucid_viewer_screenshot(pellucid_viewer *viewer, int width, int height, uint8_t *rgba, pellucid_error *error) {
    pellucid_error unused;
    char path[128];
    struct answer answer;
    error = error != NULL ? error : &unused;
    if (width < 1 || height < 1 || width > 1 << 16 || height > 1 << 16)
        return fail(error, PELLUCID_INVALID, "Give 1 to 65536 pixels.", "A picture of %d x %d cannot be.", width,
                    height);
    size_t bytes = (size_t)width * (size_t)height * 4;
    snprintf(path, sizeof path, "/api/screenshot?width=%d&height=%d&format=raw", width, height);
    TRY(request(&viewer->place, &viewer->watch, "GET", path, "", 0, bytes, &answer, error));
    int is_right = answer.length == bytes;
    if (is_right)
        memcpy(rgba, answer.body, bytes);
    free(answer.body);
    return is_right ? PELLUCID_OK : against_rules(error, "its picture has another size");
}

/* Shape and type from the head of a .npy file; the offset of its voxels, or 0. */
static size_t read_npy_head(const struct answer *answer, pellucid_array *array) {
    const uint8_t *bytes = (const uint8_t *)answer->body;
    char head[1024];
    if (answer->length < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return 0;
    size_t start = bytes[6] == 1 ? 10 : 12;
    size_t length = bytes[6] == 1 ? (size_t)(bytes[8] | bytes[9] << 8) : word32(bytes + 8);
    if (length >= sizeof head || length > answer->length - start)
        return 0;
    memcpy(head, bytes + start, length);
    head[length] = 0;
    const char *type = strstr(head, "'descr': '"), *shape = strstr(head, "'shape': (");
    if (type == NULL || shape == NULL || strstr(head, "'fortran_order': False") == NULL)
        return 0;
    int found = TYPE_COUNT - 1;
    while (found >= 0 && strncmp(type + 10, TYPES[found].wire, strlen(TYPES[found].wire)) != 0)
        found--;
    array->axes = 3;
    array->type = (pellucid_type)(found < 0 ? 0 : found);
    if (found < 0 || sscanf(shape + 10, "%" SCNu64 ", %" SCNu64 ", %" SCNu64, &array->shape[0], &array->shape[1],
                            &array->shape[2]) != 3)
        return 0;
    return pellucid_bytes(array) == answer->length - start - length ? start + length : 0;
}

static int retrieve_over_http(pellucid_viewer *viewer, int layer, const char *box, pellucid_array *volume,
                              pellucid_report *report, pellucid_error *error) {
    char path[256];
    struct answer answer;
    struct transfer transfer = {.descriptor = -1};
    double since = now_s();
    snprintf(path, sizeof path, "/api/volume?layer=%d&box=%s", layer, box); /* of a box nothing has to be quoted */
    TRY(request(&viewer->place, &viewer->watch, "GET", path, "", 0, viewer->options.limit_bytes, &answer, error));
    size_t offset = read_npy_head(&answer, &transfer.array);
    int code = offset == 0 ? against_rules(error, "its voxels are no .npy file of three axes in C order")
                           : keep_texts(&transfer.array, error);
    if (code == PELLUCID_OK) {
        transfer.bytes = pellucid_bytes(&transfer.array);
        ((struct owned *)transfer.array.owned)->mapped = transfer.bytes > 0 ? transfer.bytes : 1;
        code = allocate_here(&transfer, error);
    }
    if (code == PELLUCID_OK) {
        memcpy(transfer.array.data, answer.body + offset, transfer.bytes);
        *report = (pellucid_report){.lane = "http", .streams = 1, .bytes = transfer.bytes, .seconds = now_s() - since};
        hand_over(&transfer, volume);
    }
    free(answer.body);
    transfer_free(&transfer);
    return code;
}

int pellucid_viewer_retrieve_volume(pellucid_viewer *viewer, int layer, const uint64_t start[3], const uint64_t stop[3],
                                    pellucid_array *volume, pellucid_report *report, pellucid_error *error) {
    pellucid_report unused_report;
    pellucid_error unused_error;
    char box[160] = "", asked[256];
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    memset(volume, 0, sizeof *volume);
    if (start != NULL && stop != NULL)
        snprintf(box, sizeof box, "%" PRIu64 ":%" PRIu64 ",%" PRIu64 ":%" PRIu64 ",%" PRIu64 ":%" PRIu64, start[0],
                 stop[0], start[1], stop[1], start[2], stop[2]);
    if (find_way(viewer) != STRAIGHT)
        return retrieve_over_http(viewer, layer, box, volume, report, error);
    snprintf(asked, sizeof asked, "{\"layer\": %d, \"box\": \"%s\"}", layer, box);
    return retrieve_from(&viewer->transport, viewer->place.token, asked, &viewer->options, volume, report, error);
}
