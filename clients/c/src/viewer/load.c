/* Files that a viewer opens. */
#include "base/errors.h"
#include "base/json.h"
#include "base/text.h"
#include "connection/channel.h"
#include "internal.h"
#include "viewer/display.h"
#include "viewer/http_request.h"
#include "connection/http_response.h"
#include "viewer/viewer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A message of a Line (workers/channel.py): its length in four bytes, then JSON. */
static int exchange_on_socket(struct channel *channel, const struct text *body, pellucid_error *error) {
    uint32_t length = (uint32_t)body->length;
    struct response response = {0};
    TRY(write_bytes(channel, &length, sizeof length, error));
    TRY(write_bytes(channel, body->at, body->length, error));
    TRY(read_bytes(channel, &length, sizeof length, error));
    if (length > MAX_RESPONSE_BYTES)
        return protocol_error(error, "its response is too long");
    TRY(reserve_response(&response, length, MAX_RESPONSE_BYTES, error));
    int code = read_bytes(channel, response.body, length, error);
    response.body[code == PELLUCID_OK ? length : 0] = 0;
    if (code == PELLUCID_OK && json_find(response.body, "what") != NULL)
        code = error_from_response(&response, error);
    free(response.body);
    return code;
}

/* Connect to the viewer's socket for programs of the same user on its machine. */
static int connect_to_socket(pellucid_viewer *viewer, struct channel *channel) {
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    const char *name = strrchr(viewer->socket, '/'); /* a viewer must not choose another socket of this user */
    int is_named = name != NULL && strcmp(name, "/arrays.socket") == 0;
    int fd = is_named ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return 0;
    snprintf(local.sun_path, sizeof local.sun_path, "%.107s", viewer->socket);
    if (connect(fd, (struct sockaddr *)&local, sizeof local) != 0) {
        close(fd);
        return 0;
    }
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != geteuid()) {
        close(fd); /* another user may have made a socket of the same name */
        return 0;
    }
    channel_start(channel, fd, &viewer->monitor);
    return 1;
}

int pellucid_viewer_load(pellucid_viewer *viewer, const char *path, const char *how, pellucid_error *error) {
    pellucid_error unused;
    struct text body = {0};
    struct channel channel;
    char folder[4096] = "";
    int is_here = connect_to_socket(viewer, &channel);
    error = error != NULL ? error : &unused;
    if (path != NULL && path[0] != '/' && strstr(path, "://") == NULL && getcwd(folder, sizeof folder) != NULL)
        strncat(folder, "/", sizeof folder - strlen(folder) - 1);
    append(&body, "{");
    if (is_here) {
        append(&body, "\"token\": ");
        append_json(&body, viewer->endpoint.token);
        append(&body, ", \"load\": {");
    }
    struct text whole = {0};
    append(&whole, "%s%s", folder, path != NULL ? path : "");
    append(&body, "\"path\": ");
    append_json(&body, whole.has_failed ? "" : whole.at);
    append(&body, ", \"how\": ");
    append_json(&body, how_or_default(how));
    append(&body, is_here ? "}}" : "}");
    free(whole.at);
    if (!is_here)
        return http_json(&viewer->endpoint, &viewer->monitor, "POST", "/api/load", &body, NULL, error);
    int code = body.has_failed ? out_of_memory(error, body.length) : exchange_on_socket(&channel, &body, error);
    channel_close(&channel);
    free(body.at);
    return code;
}
