/* Sends a ball to whoever listens:
 *
 *     python -c 'import pellucid.transport.listening as t; print(t.receive("127.0.0.1:5100", token="a long secret").array.sum())' &
 *     build/example 127.0.0.1:5100 "a long secret"
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

int main(int count, char **arguments) {
    pellucid_error error;
    pellucid_report report;
    uint16_t *voxels = malloc(sizeof *voxels * EDGE * EDGE * EDGE);
    if (count != 3 || voxels == NULL) {
        fprintf(stderr, "usage: %s ADDRESS TOKEN\n", arguments[0]);
        free(voxels);
        return 2;
    }
    draw_ball(voxels);
    pellucid_array ball = {.data = voxels, .axes = 3, .shape = {EDGE, EDGE, EDGE}, .type = PELLUCID_UINT16,
                           .spacing = {0.5, 0.5, 0.5}, .unit = "um", .name = "ball",
                           .metadata = "{\"made by\": \"example.c\"}"};
    int code = pellucid_send(arguments[1], arguments[2], &ball, NULL, &report, &error);
    if (code != PELLUCID_OK)
        fprintf(stderr, "%s %s\n", error.what, error.remedy);
    else
        printf("%llu bytes through %s in %.3f s\n", (unsigned long long)report.bytes, report.lane, report.seconds);
    free(voxels);
    return code;
}
