#include "viewer/http_request.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/monitor.h"
#include "base/text.h"
#include "connection/channel.h"
#include "connection/endpoint.h"
#include "connection/proof.h"
#include "connection/http_response.h"

#include <stdlib.h>
#include <string.h>

int error_from_response(const struct response *response, pellucid_error *error) {
    char *what = json_text(response->body, "what"), *remedy = json_text(response->body, "remedy");
    char *kind = json_text(response->body, "kind");
    int code = kind != NULL ? code_from_name(kind) : response->status == 403 ? PELLUCID_TOKEN : PELLUCID_REFUSED;
    if (what != NULL)
        fail(error, code, remedy != NULL ? remedy : "", "%s", what);
    else if (response->status == 403)
        fail(error, code, "Use a new link: run pellucid open or pellucid view.", "The viewer rejected this link.");
    else
        fail(error, code, "Check that this is the address of a viewer.", "The viewer answered with status %d.",
             response->status);
    free(what);
    free(remedy);
    free(kind);
    return code;
}

static int write_request(const struct endpoint *endpoint, struct channel *channel, const char *method, const char *path,
                         const void *body, size_t length, pellucid_error *error) {
    struct text header = {0};
    append(&header, "%s %s%s HTTP/1.1\r\nHost: ", method, endpoint->prefix, path);
    append_host(&header, &endpoint->address);
    append(&header, "\r\nConnection: close\r\n");
    if (endpoint->bearer[0])
        append(&header, "Authorization: Bearer %s\r\n", endpoint->bearer);
    append(&header, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n", length);
    int code = header.has_failed ? out_of_memory(error, length) : write_bytes(channel, header.at, header.length, error);
    free(header.at);
    return code != PELLUCID_OK ? code : write_bytes(channel, body, length, error);
}

int http_request(const struct endpoint *endpoint, struct monitor *monitor, const char *method, const char *path,
                 const void *body, size_t length, uint64_t limit, struct response *response, pellucid_error *error) {
    struct channel channel;
    memset(response, 0, sizeof *response);
    int is_code = endpoint->code != NULL && endpoint->bearer[0] == 0;
    struct secret secret = {is_code ? endpoint->code : endpoint->bearer, is_code};
    TRY(connect_proved(&endpoint->address, endpoint->prefix, secret, monitor, &channel, error));
    int code = write_request(endpoint, &channel, method, path, body, length, error);
    if (code == PELLUCID_OK || code == PELLUCID_BROKEN) { /* a server may reject a request before its end */
        pellucid_error unused_error;
        int read_code = read_http(&channel, response, limit, code == PELLUCID_OK ? error : &unused_error);
        code = code == PELLUCID_OK || read_code == PELLUCID_OK ? read_code : code;
    }
    channel_close(&channel);
    if (code == PELLUCID_OK && response->status >= 300)
        code = error_from_response(response, error);
    if (code != PELLUCID_OK) {
        free(response->body);
        memset(response, 0, sizeof *response);
    }
    return code;
}

int http_json(const struct endpoint *endpoint, struct monitor *monitor, const char *method, const char *path,
              struct text *body, struct response *response, pellucid_error *error) {
    struct response unused;
    int has_failed = body != NULL && body->has_failed;
    int code = has_failed ? out_of_memory(error, body->length)
                          : http_request(endpoint, monitor, method, path, body != NULL ? body->at : "",
                                         body != NULL ? body->length : 0, MAX_RESPONSE_BYTES,
                                         response != NULL ? response : &unused, error);
    if (body != NULL)
        free(body->at);
    if (code == PELLUCID_OK && response == NULL)
        free(unused.body);
    return code;
}
