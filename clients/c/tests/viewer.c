/* Everything that a C program can do with a viewer; prints "step: ok" or what went wrong, a line each.
 *
 *     viewer URL FILE [LANE]                   drives one that runs
 *     viewer start FILE PYTHON                 starts one through the agent
 *     viewer label URL NETWORK REQUEST         applies a network to what it shows
 *     viewer measure URL LANE Z Y X REPEATS      render_volume as often as a line comes; prints the seconds
 */
#define _GNU_SOURCE
#include "pellucid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EDGE = 24, WIDTH = 64, HEIGHT = 48 };

static uint16_t voxels[EDGE * EDGE * EDGE];
static pellucid_error error;

static int report_step(const char *step, int code) {
    printf("%s: %s\n", step, code == PELLUCID_OK ? "ok" : error.what);
    fflush(stdout);
    return code == PELLUCID_OK;
}

static pellucid_array ball(void) {
    pellucid_array array = {.axes = 3,
                            .shape = {EDGE, EDGE, EDGE},
                            .type = PELLUCID_UINT16,
                            .spacing = {2, 1, 1},
                            .unit = "um",
                            .name = "a \"ball\"",
                            .metadata = "{\"made by\": \"viewer.c\"}"};
    return array;
}

static void draw_ball(uint16_t *at) {
    for (int i = 0; i < EDGE * EDGE * EDGE; i++) {
        int dz = 2 * (i / (EDGE * EDGE)) - EDGE, dy = 2 * (i / EDGE % EDGE) - EDGE, dx = 2 * (i % EDGE) - EDGE;
        at[i] = (uint16_t)(dz * dz + dy * dy + dx * dx < EDGE * EDGE / 2 ? 1000 + i % 7 : 0);
    }
}

/* Whether the viewer has the ball, and how its voxels came back. */
static void compare(pellucid_viewer *viewer, const char *step) {
    uint64_t start[3] = {2, 3, 4}, stop[3] = {20, 10, 24};
    pellucid_array part;
    pellucid_report report;
    if (pellucid_viewer_retrieve_volume(viewer, 0, start, stop, &part, &report, &error) != PELLUCID_OK) {
        report_step(step, error.code);
        return;
    }
    const uint16_t *found = part.data;
    int is_same = part.shape[0] == 18 && part.shape[1] == 7 && part.shape[2] == 20 && part.type == PELLUCID_UINT16;
    for (uint64_t z = 2; is_same && z < 20; z++)
        for (uint64_t y = 3; y < 10; y++)
            is_same =
                is_same && memcmp(found + ((z - 2) * 7 + y - 3) * 20, voxels + (z * EDGE + y) * EDGE + 4, 40) == 0;
    printf("%s: %s %s\n", step, is_same ? "the same" : "another", report.lane);
    pellucid_free(&part);
}

static void render(pellucid_viewer *viewer) {
    pellucid_array array = ball();
    pellucid_report report;
    char *json;
    array.data = voxels;
    int code = pellucid_viewer_render_volume(viewer, &array, NULL, &report, &error);
    printf("render_volume: %s\n", code == PELLUCID_OK ? report.lane : error.what);
    if (report_step("query", pellucid_viewer_query(viewer, &json, &error))) {
        printf("named: %s\n", strstr(json, "ball") != NULL ? "ok" : "no");
        free(json);
    }
    compare(viewer, "retrieve_volume");
}

static void take_picture(pellucid_viewer *viewer) {
    static uint8_t rgba[WIDTH * HEIGHT * 4];
    int different = 0;
    report_step("screenshot", pellucid_viewer_screenshot(viewer, WIDTH, HEIGHT, rgba, &error));
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        different += memcmp(rgba + 4 * i, rgba, 4) != 0;
    printf("pixels: %d\n", different);
}

static void fill(pellucid_viewer *viewer) {
    pellucid_array array = ball();
    pellucid_allocation *allocation;
    pellucid_report report;
    if (pellucid_viewer_allocate(viewer, &array, "replace", &allocation, &error) != PELLUCID_OK) {
        report_step("allocate", error.code);
        return;
    }
    memcpy(array.data, voxels, sizeof voxels);
    report_step("allocate", pellucid_commit(allocation, &report, &error));
    compare(viewer, "allocated");
}

static void stream(pellucid_viewer *viewer) {
    pellucid_array array = ball();
    pellucid_stream *writer;
    if (pellucid_viewer_stream(viewer, &array, NULL, &writer, &error) != PELLUCID_OK) {
        report_step("stream", error.code);
        return;
    }
    for (uint64_t z = 0; z < EDGE; z++) {
        uint64_t start[3] = {z, 0, 0}, shape[3] = {1, EDGE, EDGE};
        if (pellucid_stream_write(writer, voxels + z * EDGE * EDGE, start, shape, &error) != PELLUCID_OK)
            report_step("write", error.code);
    }
    report_step("stream", pellucid_stream_close(writer, &error));
    compare(viewer, "streamed");
}

static void show_other_things(pellucid_viewer *viewer, const char *file) {
    const float positions[3][3] = {{0, 0, 0}, {5, 0, 0}, {0, 5, 2}}, values[3] = {1, 2, 3};
    report_step("render_points", pellucid_viewer_render_points(viewer, positions, values, 3, "add", &error));
    report_step("load", pellucid_viewer_load(viewer, file, "replace", &error));
    report_step("missing", pellucid_viewer_load(viewer, "/nowhere/at/all.npy", NULL, &error));
    printf("remedy: %s\n", error.remedy);
}

/* Labels of the file's first layer, by a network; how many voxels have one. */
static int label(char **arguments) {
    pellucid_viewer *viewer;
    pellucid_network network;
    pellucid_array labels;
    double share = 0;
    int count = 0;
    if (!report_step("connect", pellucid_viewer_connect(arguments[0], NULL, &viewer, &error)))
        return 1;
    report_step("missing", pellucid_viewer_apply_network(viewer, 0, "/nowhere/net.onnx", NULL, &network, &error));
    report_step("request", pellucid_viewer_apply_network(viewer, 0, arguments[1], "[1]", &network, &error));
    report_step("layer", pellucid_viewer_apply_network(viewer, 7, arguments[1], "{}", &network, &error));
    if (report_step("apply", pellucid_viewer_apply_network(viewer, 0, arguments[1], arguments[2], &network, &error)) &&
        report_step("wait", pellucid_viewer_wait_for_network(viewer, &network, 60, &share, &error)) &&
        report_step("labels",
                    pellucid_viewer_retrieve_volume(viewer, network.layer, NULL, NULL, &labels, NULL, &error))) {
        for (uint64_t i = 0; i < pellucid_bytes(&labels); i++)
            count += ((uint8_t *)labels.data)[i] == 1;
        pellucid_free(&labels);
        printf("labelled: %d\nshare: %.2f\nlayer of labels: %d\n", count, share, network.layer);
        report_step("stop", pellucid_viewer_stop_network(viewer, &network, &error));
    }
    pellucid_viewer_close(viewer);
    return 0;
}

/* More than the viewer was started for. */
static void render_too_much(pellucid_viewer *viewer) {
    static uint16_t more[EDGE * EDGE * (EDGE + 1)];
    pellucid_array array = ball();
    array.data = more;
    array.shape[0] = EDGE + 1;
    report_step("oversize", pellucid_viewer_render_volume(viewer, &array, NULL, NULL, &error));
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* One line per turn: the benchmark lets all programs take turns. */
static int measure(char **arguments) {
    pellucid_options options = {.lane = arguments[1]};
    pellucid_array array = {.axes = 3, .type = PELLUCID_FLOAT32};
    pellucid_viewer *viewer;
    for (int i = 0; i < 3; i++)
        array.shape[i] = strtoull(arguments[2 + i], NULL, 10);
    if (pellucid_viewer_connect(arguments[0], &options, &viewer, &error) != PELLUCID_OK)
        return !report_step("connect", error.code);
    array.data = malloc(pellucid_bytes(&array));
    for (uint64_t i = 0; array.data != NULL && i < pellucid_bytes(&array) / 4; i++)
        ((float *)array.data)[i] = (float)(i % 1000);
    for (int i = atoi(arguments[5]); i > 0 && array.data != NULL; i--) {
        pellucid_report report;
        while (getchar() != '\n' && !feof(stdin)) {
        }
        double since = now();
        if (pellucid_viewer_render_volume(viewer, &array, NULL, &report, &error) != PELLUCID_OK)
            return !report_step("render_volume", error.code);
        printf("%.9f %s\n", now() - since, report.lane);
        fflush(stdout);
    }
    free(array.data);
    pellucid_viewer_close(viewer);
    return 0;
}

int main(int count, char **arguments) {
    pellucid_viewer *viewer;
    pellucid_options options = {0};
    if (count == 8 && strcmp(arguments[1], "measure") == 0)
        return measure(arguments + 2);
    if (count == 5 && strcmp(arguments[1], "label") == 0)
        return label(arguments + 2);
    int is_starting = count == 4 && strcmp(arguments[1], "start") == 0;
    pellucid_viewer_options wanted = {.device = "cpu",
                                      .gpus = -1,
                                      .name = "from C",
                                      .python = is_starting ? arguments[3] : NULL,
                                      .shape = {EDGE, EDGE, EDGE},
                                      .type = PELLUCID_UINT16};
    options.lane = count > 3 && !is_starting ? arguments[3] : NULL;
    int code = is_starting ? pellucid_viewer_start(&wanted, &options, &viewer, &error)
                           : pellucid_viewer_connect(arguments[1], &options, &viewer, &error);
    if (!report_step(is_starting ? "start" : "connect", code))
        return 1;
    draw_ball(voxels);
    render(viewer);
    take_picture(viewer);
    fill(viewer);
    stream(viewer);
    if (is_starting)
        render_too_much(viewer);
    show_other_things(viewer, arguments[2]);
    report_step("shutdown", pellucid_viewer_shutdown(viewer, &error));
    pellucid_viewer_close(viewer);
    return 0;
}
