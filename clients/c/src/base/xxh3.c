#include "base/xxh3.h"

#include <string.h>

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

uint32_t load32(const uint8_t *at) {
    uint32_t word;
    memcpy(&word, at, 4);
    return word;
}

static uint64_t load64(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

__extension__ typedef unsigned __int128 wide;

/* Both halves of a 128-bit product, folded together. */
static uint64_t multiply_fold(uint64_t a, uint64_t b) {
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
    return multiply_fold(load64(at) ^ load64(secret), load64(at + 8) ^ load64(secret + 8));
}

static uint64_t hash_short(const uint8_t *at, size_t length) {
    if (length > 8) {
        uint64_t low = load64(at) ^ (load64(SECRET + 24) ^ load64(SECRET + 32));
        uint64_t high = load64(at + length - 8) ^ (load64(SECRET + 40) ^ load64(SECRET + 48));
        return avalanche(length + __builtin_bswap64(low) + high + multiply_fold(low, high));
    }
    if (length >= 4) {
        uint64_t both = load32(at + length - 4) + ((uint64_t)load32(at) << 32);
        uint64_t h = both ^ (load64(SECRET + 8) ^ load64(SECRET + 16));
        h ^= (h << 49 | h >> 15) ^ (h << 24 | h >> 40);
        h *= MIX_2;
        h ^= (h >> 35) + length;
        h *= MIX_2;
        return h ^ h >> 28;
    }
    if (length > 0) {
        uint32_t all = (uint32_t)at[0] << 16 | (uint32_t)at[length >> 1] << 24 | at[length - 1] | (uint32_t)length << 8;
        return avalanche64(all ^ (uint64_t)(load32(SECRET) ^ load32(SECRET + 4)));
    }
    return avalanche64(load64(SECRET + 56) ^ load64(SECRET + 64));
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
        uint64_t value = load64(at + 8 * i), key = value ^ load64(secret + 8 * i);
        sums[i ^ 1] += value;
        sums[i] += (key & 0xFFFFFFFFu) * (key >> 32);
    }
}

void accumulate_many(uint64_t sums[8], const uint8_t *at, size_t stripes) {
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

accumulator *best_accumulator(void) {
#ifdef HAS_AVX2
    if (__builtin_cpu_supports("avx2"))
        return accumulate_avx2;
#endif
    return accumulate_many;
}

static void hash_stripes(uint64_t sums[8], const uint8_t *at, size_t length) {
    enum { STRIPES = (192 - 64) / 8 };
    accumulator *run = best_accumulator();
    size_t blocks = (length - 1) / (64 * STRIPES), remaining = (length - 1 - 64 * STRIPES * blocks) / 64;
    for (size_t block = 0; block < blocks; block++, at += 64 * STRIPES) {
        run(sums, at, STRIPES);
        for (int i = 0; i < 8; i++)
            sums[i] = (sums[i] ^ sums[i] >> 47 ^ load64(SECRET + 128 + 8 * i)) * P32_1;
    }
    run(sums, at, remaining);
}

static uint64_t hash_long(const uint8_t *at, size_t length) {
    uint64_t sums[8] = {P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1};
    hash_stripes(sums, at, length);
    accumulate(sums, at + length - 64, SECRET + 192 - 64 - 7);
    uint64_t h = length * P64_1;
    for (int i = 0; i < 4; i++)
        h += multiply_fold(sums[2 * i] ^ load64(SECRET + 11 + 16 * i), sums[2 * i + 1] ^ load64(SECRET + 19 + 16 * i));
    return avalanche(h);
}

uint64_t xxh3(const void *content, size_t length) {
    return length <= 16    ? hash_short(content, length)
           : length <= 240 ? hash_medium(content, length)
                           : hash_long(content, length);
}
