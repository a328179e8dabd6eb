#include "viewer/http_arrays.h"
#include "array/array.h"
#include "array/transfer.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/monitor.h"
#include "base/text.h"
#include "base/xxh3.h"
#include "viewer/display.h"
#include "viewer/http_request.h"
#include "connection/http_response.h"
#include "viewer/viewer.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append_offer(struct text *body, const pellucid_array *volume, const char *how) {
    const uint64_t *shape = volume->shape;
    append(body, "{\"shape\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "], \"dtype\": \"%s\", \"name\": ", shape[0],
           shape[1], shape[2], type_code(volume->type));
    append_json(body, volume->name);
    append(body, ", \"unit\": ");
    append_json(body, volume->unit);
    append(body, ", \"how\": ");
    append_json(body, how_or_default(how));
    locale_t before = use_c_locale();
    if (volume->spacing[0] != 0)
        append(body, ", \"spacing\": [%.17g, %.17g, %.17g]", volume->spacing[0], volume->spacing[1],
               volume->spacing[2]);
    uselocale(before);
    append(body, "}");
}

int render_over_http(pellucid_viewer *viewer, const pellucid_array *volume, const char *how, pellucid_report *report,
                     pellucid_error *error) {
    struct text body = {0};
    struct response response;
    char path[128], id[65];
    double since = now_s();
    uint64_t bytes = pellucid_bytes(volume);
    append_offer(&body, volume, how);
    TRY(http_json(&viewer->endpoint, &viewer->monitor, "POST", "/api/arrays", &body, &response, error));
    json_text_into(response.body, "id", id, sizeof id);
    free(response.body);
    if (id[0] == 0 || id[strspn(id, "0123456789abcdef")] != 0)
        return protocol_error(error, "its response has no id for the array");
    viewer->monitor.done = 0;
    viewer->monitor.total = bytes;
    for (uint64_t offset = 0; offset < bytes; offset += HTTP_PIECE_BYTES) {
        size_t length = bytes - offset < HTTP_PIECE_BYTES ? (size_t)(bytes - offset) : HTTP_PIECE_BYTES;
        snprintf(path, sizeof path, "/api/arrays/%s?offset=%" PRIu64, id, offset);
        TRY(http_request(&viewer->endpoint, &viewer->monitor, "PUT", path, (const uint8_t *)volume->data + offset,
                         length, MAX_RESPONSE_BYTES, &response, error));
        free(response.body);
        TRY(report_progress(&viewer->monitor, length, error));
    }
    snprintf(path, sizeof path, "/api/arrays/%s/show", id);
    TRY(http_json(&viewer->endpoint, &viewer->monitor, "POST", path, NULL, NULL, error));
    *report = (pellucid_report){.lane = "http", .streams = 1, .bytes = bytes, .seconds = now_s() - since};
    return PELLUCID_OK;
}

size_t parse_npy_header(const struct response *response, pellucid_array *array) {
    const uint8_t *bytes = (const uint8_t *)response->body;
    char header[1024];
    if (response->length < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return 0;
    size_t start = bytes[6] == 1 ? 10 : 12;
    size_t length = bytes[6] == 1 ? (size_t)(bytes[8] | bytes[9] << 8) : load32(bytes + 8);
    if (length >= sizeof header || length > response->length - start)
        return 0;
    memcpy(header, bytes + start, length);
    header[length] = 0;
    const char *type = strstr(header, "'descr': '"), *shape = strstr(header, "'shape': (");
    if (type == NULL || shape == NULL || strstr(header, "'fortran_order': False") == NULL)
        return 0;
    int found = type_from_code(type + 10, strcspn(type + 10, "'"));
    array->axes = 3;
    array->type = (pellucid_type)(found < 0 ? 0 : found);
    if (found < 0 || sscanf(shape + 10, "%" SCNu64 ", %" SCNu64 ", %" SCNu64, &array->shape[0], &array->shape[1],
                            &array->shape[2]) != 3)
        return 0;
    return pellucid_bytes(array) == response->length - start - length ? start + length : 0;
}

int retrieve_over_http(pellucid_viewer *viewer, int layer, const char *box, pellucid_array *volume,
                       pellucid_report *report, pellucid_error *error) {
    char path[256];
    struct response response;
    struct transfer transfer = {.descriptor = -1};
    double since = now_s();
    snprintf(path, sizeof path, "/api/volume?layer=%d&box=%s", layer, box); /* a box needs no quoting */
    TRY(http_request(&viewer->endpoint, &viewer->monitor, "GET", path, "", 0, viewer->options.limit_bytes, &response,
                     error));
    size_t offset = parse_npy_header(&response, &transfer.array);
    int code = offset == 0 ? protocol_error(error, "its voxels are not a .npy file with three axes in C order")
                           : copy_texts(&transfer.array, error);
    if (code == PELLUCID_OK) {
        transfer.bytes = pellucid_bytes(&transfer.array);
        ((struct owned *)transfer.array.owned)->mapped = transfer.bytes > 0 ? transfer.bytes : 1;
        code = allocate_here(&transfer, error);
    }
    if (code == PELLUCID_OK) {
        memcpy(transfer.array.data, response.body + offset, transfer.bytes);
        *report = (pellucid_report){.lane = "http", .streams = 1, .bytes = transfer.bytes, .seconds = now_s() - since};
        move_array(&transfer, volume);
    }
    free(response.body);
    transfer_free(&transfer);
    return code;
}
