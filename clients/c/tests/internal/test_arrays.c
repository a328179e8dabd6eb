/* Arrays between two ends. */
#include "check.h"
#include "ends.h"

#include "base/clock.h"
#include "transfer/listener.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void test_types(const char *lane) {
    struct ends *ends = open_ends(lane, 0);
    uint64_t voxels[24];
    memset(voxels, 1, sizeof voxels);
    for (int type = PELLUCID_BOOL; type <= PELLUCID_COMPLEX128; type++) {
        pellucid_array array = {.data = voxels,
                                .axes = 3,
                                .shape = {2, 3, 2},
                                .type = (pellucid_type)type,
                                .spacing = {3, 2, 1},
                                .unit = "um",
                                .name = "a\nb",
                                .metadata = "{\"a\": 1}"};
        pellucid_array received;
        CHECK(exchange(ends, &array, &received, 10) == PELLUCID_OK && ends->code == PELLUCID_OK);
        CHECK(received.type == array.type && received.axes == 3 && received.shape[2] == 2);
        CHECK(memcmp(received.data, voxels, pellucid_bytes(&array)) == 0);
        CHECK(received.spacing[1] == 2 && strcmp(received.unit, "um") == 0 && strcmp(received.name, "a b") == 0);
        CHECK(strcmp(received.metadata, "{\"a\": 1}") == 0 && strcmp(ends->report.lane, lane) == 0);
        pellucid_free(&received);
        pellucid_free(&received);
    }
    pellucid_array nothing = {.axes = 2, .shape = {0, 5}}, received;
    CHECK(exchange(ends, &nothing, &received, 10) == PELLUCID_OK && received.shape[1] == 5);
    pellucid_free(&received);
    close_ends(ends);
}

void test_pieces(const char *lane) {
    uint32_t *voxels = many_voxels();
    pellucid_array array = {.data = voxels, .axes = 1, .shape = {COUNT}, .type = PELLUCID_UINT32}, received;
    struct ends *ends = open_ends(lane, 0);
    for (ends->options.no_checksum = 0; ends->options.no_checksum < 2; ends->options.no_checksum++) {
        CHECK(exchange(ends, &array, &received, 10) == PELLUCID_OK && ends->code == PELLUCID_OK);
        CHECK(memcmp(received.data, voxels, sizeof *voxels * COUNT) == 0);
        CHECK(ends->report.bytes == sizeof *voxels * COUNT);
        pellucid_free(&received);
    }
    close_ends(ends);
    free(voxels);
}

void test_errors(const char *lane) {
    uint32_t voxels[4] = {1, 2, 3, 4};
    pellucid_array array = {.data = voxels, .axes = 1, .shape = {4}, .type = PELLUCID_UINT32}, received;
    struct ends *ends = open_ends(lane, 15);
    CHECK(exchange(ends, &array, &received, 0.5) == PELLUCID_TIMEOUT);
    CHECK(ends->code == PELLUCID_TOO_LARGE && strstr(ends->error.what, "16 bytes") &&
          strstr(ends->error.what, "15 bytes"));
    array.shape[0] = 3;
    ends->token = "wrong horse battery";
    CHECK(exchange(ends, &array, &received, 0.5) == PELLUCID_TIMEOUT && ends->code == PELLUCID_TOKEN);
    ends->token = TOKEN;
    CHECK(exchange(ends, &array, &received, 10) == PELLUCID_OK && ends->code == PELLUCID_OK);
    pellucid_free(&received);
    array.axes = 9;
    CHECK(pellucid_send("127.0.0.1:1", TOKEN, &array, NULL, NULL, &ends->error) == PELLUCID_INVALID);
    array.axes = 1;
    CHECK(pellucid_send("127.0.0.1:1", TOKEN, &array, NULL, NULL, &ends->error) == PELLUCID_UNREACHABLE);
    CHECK(pellucid_send("127.0.0.1:1", "short", &array, NULL, NULL, NULL) == PELLUCID_INVALID);
    CHECK(strcmp(pellucid_code_name(PELLUCID_TOKEN), "token") == 0);
    close_ends(ends);
}

/* Bytes that each end has reported, and whether the receiver reported a part before the sender was done. */
struct progress {
    atomic_ullong received, sent;
    int has_waited;
};

static int on_received(void *context, uint64_t done, uint64_t total) {
    struct progress *progress = context;
    (void)total;
    atomic_store(&progress->received, done);
    return 0;
}

/* The sender goes on when the receiver has reported a part of the array. */
static int on_sent(void *context, uint64_t done, uint64_t total) {
    struct progress *progress = context;
    double since = now_s();
    atomic_store(&progress->sent, done);
    if (done == 0 || total == 0 || progress->has_waited)
        return 0;
    while (atomic_load(&progress->received) == 0 && now_s() - since < 10)
        sched_yield();
    progress->has_waited = 1;
    CHECK(done < total && atomic_load(&progress->received) > 0 && atomic_load(&progress->received) < total);
    return 0;
}

void test_progress(const char *lane) {
    uint32_t *voxels = many_voxels();
    pellucid_array array = {.data = voxels, .axes = 1, .shape = {COUNT}, .type = PELLUCID_UINT32}, received;
    struct progress progress = {0};
    struct ends *ends = open_ends(lane, 0);
    ends->listener->options.progress = on_received;
    ends->listener->options.context = &progress;
    ends->options.progress = on_sent;
    ends->options.context = &progress;
    CHECK(exchange(ends, &array, &received, 20) == PELLUCID_OK && ends->code == PELLUCID_OK);
    CHECK(memcmp(received.data, voxels, sizeof *voxels * COUNT) == 0 && progress.has_waited);
    CHECK(atomic_load(&progress.received) == sizeof *voxels * COUNT);
    CHECK(atomic_load(&progress.sent) == sizeof *voxels * COUNT);
    pellucid_free(&received);
    close_ends(ends);
    free(voxels);
}

static int cancel_late(void *context, uint64_t done, uint64_t total) {
    (void)context;
    return total > 0 && done > total / 2;
}

void test_cancel(const char *lane) {
    uint32_t *voxels = many_voxels();
    pellucid_array array = {.data = voxels, .axes = 1, .shape = {COUNT}, .type = PELLUCID_UINT32}, received;
    struct ends *ends = open_ends(lane, 0);
    ends->options.progress = cancel_late;
    CHECK(exchange(ends, &array, &received, 1) == PELLUCID_TIMEOUT && ends->code == PELLUCID_CANCELLED);
    ends->options.progress = NULL;
    CHECK(exchange(ends, &array, &received, 10) == PELLUCID_OK && ends->code == PELLUCID_OK);
    pellucid_free(&received);
    close_ends(ends);
    free(voxels);
}

static int count_bytes(void *context, uint64_t done, uint64_t total) {
    uint64_t *counted = context;
    counted[0] = done;
    counted[1] = total;
    return 0;
}

static void *allocate_main(void *argument) {
    struct ends *ends = argument;
    pellucid_array array = {.axes = 2, .shape = {3, 5}, .type = PELLUCID_INT32};
    pellucid_allocation *allocation;
    const char *address = pellucid_listener_address(ends->listener);
    ends->code = pellucid_allocate(address, TOKEN, &array, &ends->options, &allocation, &ends->error);
    if (ends->code != PELLUCID_OK)
        return NULL;
    for (int i = 0; i < 15; i++)
        ((int32_t *)array.data)[i] = i;
    ends->code = pellucid_commit(allocation, &ends->report, &ends->error);
    return NULL;
}

void test_allocation(const char *lane) {
    struct ends *ends = open_ends(lane, 0);
    pthread_t thread;
    pellucid_array received;
    uint64_t counted[2] = {0, 0};
    ends->options.progress = count_bytes;
    ends->options.context = counted;
    pthread_create(&thread, NULL, allocate_main, ends);
    CHECK(pellucid_receive(ends->listener, 10, &received, NULL, NULL) == PELLUCID_OK);
    pthread_join(thread, NULL);
    CHECK(ends->code == PELLUCID_OK && received.data != NULL && ((int32_t *)received.data)[14] == 14);
    CHECK(ends->report.bytes == (strcmp(lane, "shm") == 0 ? 0 : 60) && counted[0] == 60 && counted[1] == 60);
    pellucid_free(&received);
    close_ends(ends);
}
