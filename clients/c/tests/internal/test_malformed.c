/* Peers that send malformed or incomplete messages. */
#include "array/pieces.h"
#include "base/clock.h"
#include "check.h"
#include "connection/messages.h"
#include "ends.h"
#include "transfer/accept.h"
#include "transfer/listener.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Peers that send a part of a message, and more of them than are kept, delay no sender. */
void test_candidates(void) {
    uint32_t voxels[4] = {1, 2, 3, 4};
    pellucid_array array = {.data = voxels, .axes = 1, .shape = {4}, .type = PELLUCID_UINT32}, received;
    struct ends *ends = open_ends("tcp", 0);
    int port = atoi(strrchr(ends->listener->address, ':') + 1), candidates[MAX_CANDIDATES + 4];
    for (int i = 0; i < MAX_CANDIDATES + 4; i++) {
        const char *input = i % 3 == 0   ? "PLT"
                            : i % 3 == 1 ? "PLT1\xff\xff\xff\xff\xff\xff\xff\xff"
                                         : "GET / HTTP/1.1\r\n\r\n";
        candidates[i] = dial(port);
        CHECK(send(candidates[i], input, strlen(input), MSG_NOSIGNAL) == (ssize_t)strlen(input));
    }
    double since = now_s();
    CHECK(exchange(ends, &array, &received, 10) == PELLUCID_OK && ends->code == PELLUCID_OK);
    CHECK(now_s() - since < HANDSHAKE_TIMEOUT_S);
    pellucid_free(&received);
    for (int i = 0; i < MAX_CANDIDATES + 4; i++)
        close(candidates[i]);
    close_ends(ends);
}

/* Invalid sizes and lists of pieces from a receiver are rejected. */
void test_missing_pieces(void) {
    struct transfer transfer = {.bytes = 100, .array = {.type = PELLUCID_UINT16}};
    struct message message = {0};
    uint32_t *list, count;
    CHECK(!set_piece_size(&transfer, 0) && !set_piece_size(&transfer, 3) &&
          !set_piece_size(&transfer, (uint64_t)1 << 33) && set_piece_size(&transfer, 10));
    transfer.bytes = (uint64_t)1 << 43;
    CHECK(!set_piece_size(&transfer, 2));
    transfer.bytes = 100;
    CHECK(set_piece_size(&transfer, 10) && transfer.count == 10);
    const char *wrong[] = {"ready\nmissing: 0-10",
                           "ready\nmissing: 5-4",
                           "ready\nmissing: 0-3 3-4",
                           "ready\nmissing: -1-4",
                           "ready\nmissing: 0-99999999999999999999",
                           "ready\nmissing: 0-9 0-9",
                           "ready\nmissing: 5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        message.header = (char *)(uintptr_t)wrong[i];
        CHECK(parse_pieces(&message, "missing", &transfer, &list, &count, NULL) == PELLUCID_PROTOCOL);
        free(list);
    }
    message.header = (char *)(uintptr_t)"ready\nmissing: 0-1 4-4 9-9";
    CHECK(parse_pieces(&message, "missing", &transfer, &list, &count, NULL) == PELLUCID_OK && count == 4 &&
          list[3] == 9);
    free(list);
}
