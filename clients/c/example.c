/* Shows a ball in a viewer, or sends it to a listener:
 *
 *     build/example ADDRESS                  as `pellucid view --no-browser` prints it
 *     build/example HOST:PORT TOKEN          to pellucid.transport.receive("HOST:PORT", token=TOKEN), or
 * pellucid_receive
 */
#include "pellucid.h"

#include <stdio.h>
#include <stdlib.h>

enum { EDGE = 128 };

static void draw_ball(uint16_t *voxels) {
    for (int z = 0; z < EDGE; z++)
        for (int y = 0; y < EDGE; y++)
            for (int x = 0; x < EDGE; x++) {
                int dz = 2 * z - EDGE, dy = 2 * y - EDGE, dx = 2 * x - EDGE;
                voxels[(z * EDGE + y) * EDGE + x] = dz * dz + dy * dy + dx * dx < EDGE * EDGE ? 1000 : 0;
            }
}

static int show(const char *url, const pellucid_array *ball, pellucid_report *report, pellucid_error *error) {
    pellucid_viewer *viewer;
    int code = pellucid_viewer_connect(url, NULL, &viewer, error);
    if (code == PELLUCID_OK)
        code = pellucid_viewer_render_volume(viewer, ball, NULL, report, error);
    pellucid_viewer_close(viewer);
    return code;
}

int main(int count, char **arguments) {
    pellucid_error error;
    pellucid_report report;
    uint16_t *voxels = malloc(sizeof *voxels * EDGE * EDGE * EDGE);
    if (count < 2 || count > 3 || voxels == NULL) {
        fprintf(stderr, "usage: %s ADDRESS [TOKEN]\n", arguments[0]);
        free(voxels);
        return 2;
    }
    draw_ball(voxels);
    pellucid_array ball = {.data = voxels,
                           .axes = 3,
                           .shape = {EDGE, EDGE, EDGE},
                           .type = PELLUCID_UINT16,
                           .spacing = {0.5, 0.5, 0.5},
                           .unit = "um",
                           .name = "ball",
                           .metadata = "{\"made by\": \"example.c\"}"};
    int code = count == 2 ? show(arguments[1], &ball, &report, &error)
                          : pellucid_send(arguments[1], arguments[2], &ball, NULL, &report, &error);
    if (code != PELLUCID_OK)
        fprintf(stderr, "%s %s\n", error.what, error.remedy);
    else
        printf("%llu bytes through %s in %.3f s\n", (unsigned long long)report.bytes, report.lane, report.seconds);
    free(voxels);
    return code;
}
