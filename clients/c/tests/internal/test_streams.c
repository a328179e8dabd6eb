/* Streams between two ends. */
#include "check.h"
#include "ends.h"
#include "transfer/listener.h"
#include "transfer/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void *stream_main(void *argument) {
    struct ends *ends = argument;
    pellucid_array volume = {.axes = 3, .shape = {6, 20, 30}, .type = PELLUCID_UINT16, .name = "stream"};
    pellucid_stream *stream;
    const char *address = pellucid_listener_address(ends->listener);
    ends->code = pellucid_stream_open(address, TOKEN, &volume, &ends->options, &stream, &ends->error);
    if (ends->code != PELLUCID_OK)
        return NULL;
    for (uint64_t z = 0; z < 6; z++)
        for (uint64_t half = 0; half < 2; half++) {
            uint16_t block[20 * 15];
            uint64_t start[3] = {z, 0, 15 * half}, shape[3] = {1, 20, 15}, far[3] = {z, 1, 0};
            for (int i = 0; i < 20 * 15; i++)
                block[i] = (uint16_t)(10 * z + half);
            CHECK(pellucid_stream_write(stream, block, start, shape, &ends->error) == PELLUCID_OK);
            CHECK(pellucid_stream_write(stream, block, far, shape, &ends->error) == PELLUCID_INVALID);
        }
    ends->code = pellucid_stream_close(stream, &ends->error);
    return NULL;
}

void test_stream(const char *lane) {
    struct ends *ends = open_ends(lane, 0);
    pthread_t thread;
    pellucid_array received;
    pthread_create(&thread, NULL, stream_main, ends);
    CHECK(pellucid_receive(ends->listener, 10, &received, NULL, NULL) == PELLUCID_OK);
    pthread_join(thread, NULL);
    CHECK(ends->code == PELLUCID_OK && received.axes == 3);
    const uint16_t *voxels = received.data;
    for (int i = 0; i < 6 * 20 * 30 && received.data != NULL; i++)
        CHECK(voxels[i] == 10 * (i / 600) + (i % 30 >= 15));
    pellucid_free(&received);
    close_ends(ends);
}

static void *receive_main(void *argument) {
    struct ends *ends = argument;
    pellucid_array received;
    ends->code = pellucid_receive(ends->listener, 1, &received, NULL, &ends->error);
    return NULL;
}

/* A lost stream that cannot be resumed fails at every call. */
void test_stream_without_receiver(void) {
    struct ends *ends = open_ends("tcp", 0);
    pellucid_array volume = {.axes = 3, .shape = {4, 512, 1024}, .type = PELLUCID_UINT16};
    uint16_t *slice = calloc(512 * 1024, sizeof *slice);
    uint64_t start[3] = {0, 0, 0}, shape[3] = {1, 512, 1024};
    pellucid_stream *stream;
    pellucid_error error;
    pthread_t thread;
    pthread_create(&thread, NULL, receive_main, ends);
    pellucid_options options = {.lane = "tcp", .attempts = 2};
    int code = pellucid_stream_open(ends->listener->address, TOKEN, &volume, &options, &stream, &error);
    CHECK(code == PELLUCID_OK);
    strcpy(stream->address.port, "1");
    for (int i = 0; i < stream->link.stream_count; i++)
        shutdown(stream->link.streams[i].fd, SHUT_RDWR);
    shutdown(stream->link.control.fd, SHUT_RDWR);
    CHECK(pellucid_stream_write(stream, slice, start, shape, &error) == PELLUCID_UNREACHABLE);
    CHECK(pellucid_stream_write(stream, slice, start, shape, &error) == PELLUCID_BROKEN);
    CHECK(pellucid_stream_close(stream, &error) == PELLUCID_UNREACHABLE);
    pthread_join(thread, NULL);
    CHECK(ends->code == PELLUCID_TIMEOUT);
    free(slice);
    close_ends(ends);
}
