#include "connection/connect.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "base/secrets.h"
#include "base/text.h"
#include "connection/address.h"
#include "connection/channel.h"
#include "connection/proof.h"
#include "connection/tls.h"
#include "connection/websocket.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Names below localhost are this machine; not every resolver knows that. */
static const char *host_to_connect(const char *name) {
    size_t length = strlen(name);
    return length > 10 && strcmp(name + length - 10, ".localhost") == 0 ? "127.0.0.1" : name;
}

/* Connect within CONNECT_TIMEOUT_S; -1 with errno on failure. */
static int connect_with_timeout(const struct addrinfo *target, struct monitor *monitor) {
    int fd = socket(target->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), fault = 0;
    double since = now_s();
    if (fd < 0)
        return -1;
    if (connect(fd, target->ai_addr, target->ai_addrlen) != 0 && errno != EINPROGRESS && errno != EINTR)
        fault = errno;
    for (int is_ready = 0; fault == 0 && !is_ready;) {
        struct pollfd waiting = {fd, POLLOUT, 0};
        socklen_t length = sizeof fault;
        is_ready = poll(&waiting, 1, POLL_MS) > 0;
        if (is_ready && getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &length) != 0)
            fault = errno;
        else if (!is_ready && (now_s() - since > CONNECT_TIMEOUT_S || report_progress(monitor, 0, NULL) != PELLUCID_OK))
            fault = ETIMEDOUT;
    }
    if (fault == 0 && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0)
        return fd;
    close(fd);
    errno = fault;
    return -1;
}

int connect_directly(const struct address *address, struct monitor *monitor, struct channel *channel,
                     pellucid_error *error) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int fault = getaddrinfo(host_to_connect(address->host), address->port, &hints, &found), fd = -1, why = 0;
    channel_clear(channel);
    if (fault != 0)
        return unreachable(error, address, gai_strerror(fault));
    for (struct addrinfo *each = found; each != NULL && fd < 0; each = each->ai_next)
        if ((fd = connect_with_timeout(each, monitor)) < 0)
            why = errno;
    freeaddrinfo(found);
    if (fd < 0 && monitor->is_cancelled)
        return report_progress(monitor, 0, error);
    if (fd < 0)
        return unreachable(error, address, strerror(why));
    channel_start(channel, fd, monitor);
    int code = address->is_secure ? start_tls(channel, address, error) : PELLUCID_OK;
    if (code != PELLUCID_OK)
        channel_close(channel);
    return code;
}

/* Read a line of the response header byte by byte: the bytes after the header belong to the transfer. */
static int read_response_line(struct channel *channel, char *line, size_t capacity, pellucid_error *error) {
    for (size_t length = 0; length < capacity; length++) {
        TRY(read_bytes(channel, line + length, 1, error));
        if (line[length] == '\n') {
            line[length - (length > 0 && line[length - 1] == '\r')] = 0;
            return PELLUCID_OK;
        }
    }
    return protocol_error(error, "a line of its response is too long");
}

/* Request a WebSocket from a web server. The listener behind it proves later that it holds the token. */
static int request_websocket(const struct address *address, struct channel *channel, pellucid_error *error) {
    struct text header = {0};
    char key[33], line[2048];
    int status = 0;
    TRY(random_hex(10, key, error));
    append(&header, "GET %s/transfer HTTP/1.1\r\nHost: ", address->path);
    append_host(&header, address);
    append(&header, "\r\nAuthorization: Bearer %s\r\n", address->bearer);
    /* Twenty characters and the ending are sixteen bytes in Base64. */
    append(&header, "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n");
    append(&header, "Sec-WebSocket-Key: %.20s0w==\r\n\r\n", key);
    int code = header.has_failed ? out_of_memory(error, 0) : write_bytes(channel, header.at, header.length, error);
    free(header.at);
    TRY(code);
    TRY(read_response_line(channel, line, sizeof line, error));
    if (strncmp(line, "HTTP/1.", 7) != 0 || sscanf(line + 8, " %3d", &status) != 1)
        return protocol_error(error, "its response is not HTTP");
    if (status == 401 || status == 403)
        return token_rejected(error, "The web server");
    for (int i = 0; i < 100 && line[0] != 0; i++)
        TRY(read_response_line(channel, line, sizeof line, error));
    if (status == 101 && line[0] == 0)
        return PELLUCID_OK;
    snprintf(line, sizeof line, "the web server does not pass the connection on (status %d)", status);
    return unreachable(error, address, line);
}

int connect_to(const struct address *address, struct monitor *monitor, struct channel *channel, pellucid_error *error) {
    if (!address->is_web)
        return connect_directly(address, monitor, channel, error);
    TRY(connect_proved(address, address->path, (struct secret){address->bearer, 0}, monitor, channel, error));
    int code = request_websocket(address, channel, error);
    if (code == PELLUCID_OK) {
        channel->websocket = calloc(1, sizeof *channel->websocket);
        code = channel->websocket == NULL ? out_of_memory(error, sizeof *channel->websocket) : PELLUCID_OK;
    }
    if (code != PELLUCID_OK)
        channel_close(channel);
    return code;
}
