/* Points that a viewer shows. */
#include "base/errors.h"
#include "base/json.h"
#include "base/secrets.h"
#include "internal.h"
#include "viewer/http_request.h"
#include "connection/http_response.h"
#include "viewer/route.h"
#include "viewer/viewer.h"
#include "viewer/volumes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NPY_HEADER_BYTES = 128 };

/* Positions and values as rows of four numbers, after `header` bytes. */
static uint8_t *pack_points(size_t header, const float (*positions)[3], const float *values, size_t count) {
    size_t bytes;
    if (__builtin_mul_overflow(count, 4 * sizeof(float), &bytes) || __builtin_add_overflow(bytes, header, &bytes))
        return NULL;
    uint8_t *rows = malloc(bytes);
    for (size_t i = 0; rows != NULL && i < count; i++) {
        float row[4] = {positions[i][0], positions[i][1], positions[i][2], values[i]};
        memcpy(rows + header + i * sizeof row, row, sizeof row);
    }
    return rows;
}

/* Upload the points as a .npy file, and open it. Its header is padded to 128 bytes. */
static int upload_points(pellucid_viewer *viewer, uint8_t *file, size_t count, const char *how, pellucid_error *error) {
    char mark[17], path[64];
    struct response response;
    TRY(random_hex(8, mark, error));
    memset(file, ' ', NPY_HEADER_BYTES);
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    char *end = (char *)file + 10;
    end += snprintf(end, NPY_HEADER_BYTES - 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, 4), }", count);
    *end = ' ';
    file[NPY_HEADER_BYTES - 1] = '\n';
    snprintf(path, sizeof path, "/api/upload?name=points-%s.npy", mark);
    TRY(http_request(&viewer->endpoint, &viewer->monitor, "PUT", path, file,
                     NPY_HEADER_BYTES + count * 4 * sizeof(float), MAX_RESPONSE_BYTES, &response, error));
    char *uploaded = json_text(response.body, "path");
    free(response.body);
    int code = uploaded == NULL ? protocol_error(error, "its response has no path")
                                : pellucid_viewer_load(viewer, uploaded, how, error);
    free(uploaded);
    return code;
}

int pellucid_viewer_render_points(pellucid_viewer *viewer, const float (*positions)[3], const float *values,
                                  size_t count, const char *how, pellucid_error *error) {
    pellucid_error unused;
    error = error != NULL ? error : &unused;
    if (count == 0)
        return fail(error, PELLUCID_INVALID, "Pass at least one point.", "The number of points is 0.");
    uint8_t *rows = pack_points(NPY_HEADER_BYTES, positions, values, count);
    if (rows == NULL)
        return out_of_memory(error, count);
    pellucid_array array = {
        .data = rows + NPY_HEADER_BYTES, .axes = 2, .shape = {count, 4}, .type = PELLUCID_FLOAT32, .name = "points"};
    int code = choose_route(viewer) == ROUTE_TRANSPORT ? send_to_viewer(viewer, &array, how, "points", NULL, error)
                                                       : upload_points(viewer, rows, count, how, error);
    free(rows);
    return code;
}
