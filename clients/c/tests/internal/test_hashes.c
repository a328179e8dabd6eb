/* Hashes, against known values. */
#include "base/sha256.h"
#include "base/xxh3.h"
#include "check.h"

#include <string.h>

void test_hashes(void) {
    char proof[HASH_TEXT_BYTES];
    static uint8_t bytes[2048];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + 3);
    hmac_sha256_hex("Jefe", "what do ya want for nothing?", proof); /* RFC 4231, case 2 */
    CHECK(strcmp(proof, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843") == 0);
    /* Computed with the reference implementation. */
    static const struct {
        size_t length;
        uint64_t hash;
    } known[] = {{0, 0x2d06800538d394c2u},    {1, 0x13e608bc156defedu},    {2, 0x1c9074b93943b86cu},
                 {3, 0xa9088dda485b481cu},    {4, 0x6d9253b16c8b1ed3u},    {7, 0x8e8291ad89127e2eu},
                 {8, 0x60539db630471163u},    {9, 0xfeff668361d723a8u},    {13, 0x67f77075aba7f824u},
                 {16, 0xb8c859b0f030b585u},   {17, 0x714a04408e79b80fu},   {31, 0xed41ac283d0674b3u},
                 {32, 0x19ff4ee1d6ba1a55u},   {33, 0x3e44983ad21679c8u},   {64, 0x287eb1fa9e4be2c1u},
                 {65, 0x829218de4d798646u},   {96, 0xf084e7cfbc624743u},   {97, 0x1daa83271a8e7b7cu},
                 {128, 0x67425a03650261bfu},  {129, 0xc664bf3311c6abc4u},  {144, 0x606a17fa700bb932u},
                 {200, 0x746cd0025327bf5bu},  {239, 0x1d861931c1f3cafau},  {240, 0x64556dc6b462a6cfu},
                 {241, 0x8beadd3a8874fe17u},  {256, 0x3c38817f6d79c0dau},  {511, 0xe3fca5c97aa72e1bu},
                 {512, 0xf58202b8d9019d1du},  {1023, 0xd26986a0b85dcc44u}, {1024, 0x9b81661c641c72b1u},
                 {1025, 0x806c2072ed713576u}, {1087, 0x0d058f8dbd85227eu}, {1088, 0x2f8781e01841f0dau},
                 {1089, 0x2a90437fe231e7e8u}, {2047, 0xe36fcecaa2c0ecbau}, {2048, 0xabe604813ba62ed1u}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK(xxh3(bytes, known[i].length) == known[i].hash);
    uint64_t plain[8] = {1, 2, 3, 4, 5, 6, 7, 8}, fast[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    accumulate_many(plain, bytes, 16);
    best_accumulator()(fast, bytes, 16);
    CHECK(memcmp(plain, fast, sizeof plain) == 0);
}
