/* The C end as a program, for tests with the Python end on the other side. It prints what happened, a line each.
 *
 *     peer serve ADDRESS TOKEN [LIMIT [LANE [stall]]] until its standard input is closed, or for ever when it is empty
 *     peer send|allocate|stream|retrieve ADDRESS TOKEN LANE [stall]
 *     peer measure ADDRESS TOKEN LANE BYTES REPEATS
 */
#define _GNU_SOURCE
#include "pellucid.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 5 * (1 << 20) + 77, MIB = 1 << 20 };

static int stall(void *context, uint64_t done, uint64_t total) {
    (void)context;
    (void)total;
    if (done >= 8 * MIB) {
        printf("stalled\n");
        fflush(stdout);
        for (;;)
            pause();
    }
    return 0;
}

static int failed(const pellucid_error *error) {
    printf("failed %s %s %s\n", pellucid_code_name(error->code), error->what, error->remedy);
    return 1;
}

static int sent(const pellucid_report *report) {
    printf("sent %s %" PRIu64 " %" PRIu64 "\n", report->lane, report->bytes, report->resumed_bytes);
    return 0;
}

static void count_up(uint32_t *voxels, size_t count) {
    for (size_t i = 0; i < count; i++)
        voxels[i] = (uint32_t)i;
}

static int is_right(const pellucid_array *array) {
    if (array->type != PELLUCID_UINT32 || array->axes != 1 || array->shape[0] != COUNT)
        return 0;
    for (size_t i = 0; i < COUNT; i++)
        if (((const uint32_t *)array->data)[i] != i)
            return 0;
    return 1;
}

static pellucid_array scan(void) {
    pellucid_array array = {.axes = 1,
                            .shape = {COUNT},
                            .type = PELLUCID_UINT32,
                            .name = "scan",
                            .spacing = {0.25},
                            .unit = "um",
                            .metadata = "{\"from\": \"C\"}"};
    return array;
}

static int send_it(const char *address, const char *token, const pellucid_options *options) {
    pellucid_array array = scan();
    pellucid_report report;
    pellucid_error error;
    uint32_t *voxels = malloc(sizeof *voxels * COUNT);
    count_up(voxels, COUNT);
    array.data = voxels;
    int code = pellucid_send(address, token, &array, options, &report, &error);
    free(voxels);
    return code == PELLUCID_OK ? sent(&report) : failed(&error);
}

static int allocate_it(const char *address, const char *token, const pellucid_options *options) {
    pellucid_array array = scan();
    pellucid_report report;
    pellucid_error error;
    pellucid_allocation *allocation;
    if (pellucid_allocate(address, token, &array, options, &allocation, &error) != PELLUCID_OK)
        return failed(&error);
    count_up(array.data, COUNT);
    int code = pellucid_commit(allocation, &report, &error);
    return code == PELLUCID_OK ? sent(&report) : failed(&error);
}

/* Forty slices of 160 x 256, the even ones first, then the odd ones in two halves each. */
static int stream_it(const char *address, const char *token, const pellucid_options *options) {
    static uint16_t slice[160 * 256];
    pellucid_array volume = {.axes = 3, .shape = {40, 160, 256}, .type = PELLUCID_UINT16, .name = "scan"};
    pellucid_stream *stream;
    pellucid_error error;
    if (pellucid_stream_open(address, token, &volume, options, &stream, &error) != PELLUCID_OK)
        return failed(&error);
    for (uint64_t step = 0; step < 40; step++) {
        uint64_t z = step < 20 ? 2 * step : 2 * (step - 20) + 1, halves = step < 20 ? 1 : 2;
        for (uint64_t half = 0; half < halves; half++) {
            uint64_t start[3] = {z, 0, half * 128}, shape[3] = {1, 160, 256 / halves};
            for (size_t i = 0; i < shape[1] * shape[2]; i++)
                slice[i] = (uint16_t)(1000 * z + half);
            if (pellucid_stream_write(stream, slice, start, shape, &error) != PELLUCID_OK) {
                pellucid_stream_abandon(stream);
                return failed(&error);
            }
        }
    }
    if (pellucid_stream_close(stream, &error) != PELLUCID_OK)
        return failed(&error);
    printf("sent stream\n");
    return 0;
}

static int retrieve_it(const char *address, const char *token, const pellucid_options *options) {
    pellucid_array array;
    pellucid_report report;
    pellucid_error error;
    if (pellucid_retrieve(address, token, "{\"box\": \"all\"}", options, &array, &report, &error) != PELLUCID_OK)
        return failed(&error);
    printf("retrieved %s %s %s\n", array.name, report.lane, is_right(&array) ? "right" : "wrong");
    pellucid_free(&array);
    return 0;
}

/* When the tests are done they close our standard input. */
static void *wait_for_end(void *unused) {
    (void)unused;
    while (getchar() != EOF) {
    }
    exit(0);
}

static int serve(const char *address, const char *token, const pellucid_options *options) {
    pellucid_listener *listener;
    pellucid_error error;
    pthread_t thread;
    if (pellucid_listen(address, token, options, &listener, &error) != PELLUCID_OK)
        return failed(&error);
    printf("listening %s\n", pellucid_listener_address(listener));
    fflush(stdout);
    pthread_create(&thread, NULL, wait_for_end, NULL);
    for (;;) {
        pellucid_array array;
        pellucid_report report;
        if (pellucid_receive(listener, -1, &array, &report, &error) != PELLUCID_OK)
            return failed(&error);
        uint64_t sum = 0;
        for (uint64_t i = 0; i < pellucid_bytes(&array); i++)
            sum += ((const uint8_t *)array.data)[i];
        printf("stored %s %s %" PRIu64 " %s %s %d %" PRIu64 " %s\n", array.name[0] ? array.name : "-", report.lane,
               report.resumed_bytes, is_right(&array) ? "right" : "other", pellucid_type_name(array.type), array.axes,
               sum, array.metadata);
        fflush(stdout);
        pellucid_free(&array);
    }
}

static int measure(const char *address, const char *token, const pellucid_options *options, size_t bytes, int repeats) {
    pellucid_array array = {.axes = 1, .shape = {bytes / 4}, .type = PELLUCID_FLOAT32};
    pellucid_report report;
    pellucid_error error;
    array.data = malloc(bytes);
    count_up(array.data, bytes / 4);
    for (int i = 0; i < repeats; i++) {
        int pending = getchar(); /* one line per turn: the benchmark lets all programs take turns */
        while (pending != '\n' && pending != EOF)
            pending = getchar();
        if (pellucid_send(address, token, &array, options, &report, &error) != PELLUCID_OK)
            return failed(&error);
        printf("%.9f\n", report.seconds);
        fflush(stdout);
    }
    free(array.data);
    return 0;
}

int main(int count, char **arguments) {
    pellucid_options options = {0};
    if (count < 4) {
        fprintf(stderr, "usage: %s WHAT ADDRESS TOKEN [LANE] [stall]\n", arguments[0]);
        return 2;
    }
    const char *what = arguments[1], *address = arguments[2], *token = arguments[3];
    int is_serving = strcmp(what, "serve") == 0;
    options.lane = count > 4 && !is_serving ? arguments[4] : NULL;
    options.limit_bytes = count > 4 && is_serving ? strtoull(arguments[4], NULL, 10) : 0;
    options.lane = count > 5 && is_serving ? arguments[5] : options.lane;
    options.progress = count == (is_serving ? 7 : 6) && strcmp(arguments[count - 1], "stall") == 0 ? stall : NULL;
    if (is_serving)
        return serve(address, token, &options);
    if (strcmp(what, "measure") == 0 && count >= 7) {
        options.no_checksum = count > 7;
        return measure(address, token, &options, strtoull(arguments[5], NULL, 10), atoi(arguments[6]));
    }
    if (strcmp(what, "allocate") == 0)
        return allocate_it(address, token, &options);
    if (strcmp(what, "stream") == 0)
        return stream_it(address, token, &options);
    return strcmp(what, "retrieve") == 0 ? retrieve_it(address, token, &options) : send_it(address, token, &options);
}
