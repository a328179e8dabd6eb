#include "viewer/viewer.h"
#include "array/lane.h"
#include "array/options.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/monitor.h"
#include "base/text.h"
#include "connection/endpoint.h"
#include "viewer/access.h"
#include "viewer/http_request.h"
#include "connection/http_response.h"
#include "viewer/hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read the viewer's version and addresses. */
static int read_viewer_info(pellucid_viewer *viewer, pellucid_error *error) {
    struct response about;
    TRY(http_json(&viewer->endpoint, &viewer->monitor, "GET", "/api/about", NULL, &about, error));
    const char *version = json_end(about.body) == NULL ? NULL : json_find(about.body, "version");
    int speaks = version == NULL ? -1 : (int)strtol(version, NULL, 10);
    json_text_into(about.body, "transfer", viewer->transfer, sizeof viewer->transfer);
    json_text_into(about.body, "socket", viewer->socket, sizeof viewer->socket);
    char *token = json_text(about.body, "transfer_token");
    free(about.body);
    if (token != NULL) {
        free(viewer->endpoint.token);
        viewer->endpoint.token = token;
    }
    if (speaks == PROTOCOL_VERSION)
        return PELLUCID_OK;
    if (speaks < 0)
        return fail(error, PELLUCID_UNREACHABLE, "Check that this is the address of a viewer.",
                    "Another program answers at this address.");
    return fail(error, PELLUCID_INVALID, "Use the pellucid.c of the same version.",
                "The viewer uses version %d of the protocol, this program version %d.", speaks, PROTOCOL_VERSION);
}

int pellucid_viewer_connect(const char *url, const pellucid_options *given, pellucid_viewer **result,
                            pellucid_error *error) {
    pellucid_error unused;
    pellucid_viewer *viewer = calloc(1, sizeof *viewer);
    error = error != NULL ? error : &unused;
    *result = NULL;
    if (viewer == NULL)
        return out_of_memory(error, sizeof *viewer);
    viewer->options = with_defaults(given);
    if (given == NULL || given->timeout_s <= 0)
        viewer->options.timeout_s = 600;
    monitor_init(&viewer->monitor, &viewer->options);
    char *bearer = hub_bearer(url);
    int code = parse_link(url, bearer, &viewer->endpoint, error);
    viewer->endpoint.address.needs_proof &= bearer == NULL; /* a Hub gives no proof */
    free(bearer);
    if (code == PELLUCID_OK) {
        struct text page = {0};
        append_url(&page, &viewer->endpoint);
        viewer->url = page.at;
        code = page.has_failed ? out_of_memory(error, 0) : PELLUCID_OK;
    }
    code = code != PELLUCID_OK ? code : check_lane(viewer->options.lane, error);
    code = code != PELLUCID_OK ? code : redeem_code(&viewer->endpoint, &viewer->monitor, error);
    code = code != PELLUCID_OK ? code : read_viewer_info(viewer, error);
    if (code != PELLUCID_OK) {
        pellucid_viewer_close(viewer);
        return code;
    }
    *result = viewer;
    return PELLUCID_OK;
}

void pellucid_viewer_close(pellucid_viewer *viewer) {
    if (viewer == NULL)
        return;
    monitor_destroy(&viewer->monitor);
    endpoint_free(&viewer->endpoint);
    free(viewer->url);
    free(viewer);
}

const char *pellucid_viewer_url(const pellucid_viewer *viewer) { return viewer->url; }

int pellucid_viewer_link(pellucid_viewer *viewer, char **link, pellucid_error *error) {
    struct response response;
    struct text made = {0};
    *link = NULL;
    TRY(http_json(&viewer->endpoint, &viewer->monitor, "POST", "/api/codes", NULL, &response, error));
    char *code = json_text(response.body, "code");
    const char *pin = viewer->endpoint.address.pin;
    free(response.body);
    append(&made, "%s#code=%s%s%s", viewer->url, code != NULL ? code : "", pin[0] ? "&pin=" : "", pin);
    free(code);
    *link = made.at;
    return made.has_failed ? out_of_memory(error, 0) : PELLUCID_OK;
}

int pellucid_viewer_query(pellucid_viewer *viewer, char **json, pellucid_error *error) {
    struct response response;
    *json = NULL;
    TRY(http_json(&viewer->endpoint, &viewer->monitor, "GET", "/api/scene", NULL, &response, error));
    *json = response.body;
    return PELLUCID_OK;
}

int pellucid_viewer_shutdown(pellucid_viewer *viewer, pellucid_error *error) {
    return http_json(&viewer->endpoint, &viewer->monitor, "POST", "/api/shutdown", NULL, NULL, error);
}

int pellucid_viewer_screenshot(pellucid_viewer *viewer, int width, int height, uint8_t *rgba, pellucid_error *error) {
    pellucid_error unused;
    char path[128];
    struct response response;
    error = error != NULL ? error : &unused;
    if (width < 1 || height < 1 || width > 1 << 16 || height > 1 << 16)
        return fail(error, PELLUCID_INVALID, "Use 1 to 65536 pixels for the width and the height.",
                    "Invalid image size: %d x %d.", width, height);
    size_t bytes = (size_t)width * (size_t)height * 4;
    snprintf(path, sizeof path, "/api/screenshot?width=%d&height=%d&format=raw", width, height);
    TRY(http_request(&viewer->endpoint, &viewer->monitor, "GET", path, "", 0, bytes, &response, error));
    int is_right = response.length == bytes;
    if (is_right)
        memcpy(rgba, response.body, bytes);
    free(response.body);
    return is_right ? PELLUCID_OK : protocol_error(error, "its image has another size than requested");
}
