/* Everything that a C program can do with a running viewer; prints a line for each.
 *
 *     viewer URL FILE
 */
#include "pellucid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 24, WIDTH = 64, HEIGHT = 48 };

static int told(const char *what, int code, const pellucid_error *error) {
    printf("%s %s\n", what, code == PELLUCID_OK ? "ok" : error->what);
    fflush(stdout);
    return code;
}

static void draw_ball(uint16_t *voxels) {
    for (int i = 0; i < EDGE * EDGE * EDGE; i++) {
        int dz = 2 * (i / (EDGE * EDGE)) - EDGE, dy = 2 * (i / EDGE % EDGE) - EDGE, dx = 2 * (i % EDGE) - EDGE;
        voxels[i] = (uint16_t)(dz * dz + dy * dy + dx * dx < EDGE * EDGE / 2 ? 1000 + i % 7 : 0);
    }
}

static void compare(pellucid_viewer *viewer, const uint16_t *voxels, pellucid_error *error) {
    uint64_t start[3] = {2, 3, 4}, stop[3] = {20, 10, 24};
    pellucid_array part;
    if (told("retrieved", pellucid_viewer_retrieve_volume(viewer, 0, start, stop, &part, error), error) != PELLUCID_OK)
        return;
    const uint16_t *found = part.data;
    int is_same = part.shape[0] == 18 && part.shape[1] == 7 && part.shape[2] == 20 && part.type == PELLUCID_UINT16;
    for (uint64_t z = 2; is_same && z < 20; z++)
        for (uint64_t y = 3; y < 10; y++)
            is_same = is_same && memcmp(found + ((z - 2) * 7 + y - 3) * 20, voxels + (z * EDGE + y) * EDGE + 4, 40) == 0;
    printf("the same %s\n", is_same ? "yes" : "no");
    pellucid_free(&part);
}

static void take_picture(pellucid_viewer *viewer, pellucid_error *error) {
    static uint8_t rgba[WIDTH * HEIGHT * 4];
    int different = 0;
    told("screenshot", pellucid_viewer_screenshot(viewer, WIDTH, HEIGHT, rgba, error), error);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        different += memcmp(rgba + 4 * i, rgba, 4) != 0;
    printf("pixels %d\n", different);
}

int main(int count, char **arguments) {
    static uint16_t voxels[EDGE * EDGE * EDGE];
    pellucid_array ball = {.data = voxels, .axes = 3, .shape = {EDGE, EDGE, EDGE}, .type = PELLUCID_UINT16,
                           .spacing = {2, 1, 1}, .unit = "um", .name = "a \"ball\""};
    const float positions[3][3] = {{0, 0, 0}, {5, 0, 0}, {0, 5, 2}}, values[3] = {1, 2, 3};
    pellucid_viewer *viewer;
    pellucid_error error;
    char *json;
    if (count != 3 || told("connect", pellucid_viewer_connect(arguments[1], NULL, &viewer, &error), &error) != PELLUCID_OK)
        return 1;
    draw_ball(voxels);
    told("render_volume", pellucid_viewer_render_volume(viewer, &ball, NULL, &error), &error);
    if (told("query", pellucid_viewer_query(viewer, &json, &error), &error) == PELLUCID_OK) {
        printf("named %s\n", strstr(json, "ball") != NULL ? "yes" : "no");
        free(json);
    }
    compare(viewer, voxels, &error);
    take_picture(viewer, &error);
    told("render_points", pellucid_viewer_render_points(viewer, positions, values, 3, "add", &error), &error);
    told("load", pellucid_viewer_load(viewer, arguments[2], "replace", &error), &error);
    told("missing", pellucid_viewer_load(viewer, "/nowhere/at/all.npy", NULL, &error), &error);
    told("shutdown", pellucid_viewer_shutdown(viewer, &error), &error);
    pellucid_viewer_close(viewer);
    return 0;
}
