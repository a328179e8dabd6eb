#include "transfer/listener.h"
#include "array/lane.h"
#include "array/options.h"
#include "array/transfer.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "base/secrets.h"
#include "base/ucx_library.h"
#include "connection/address.h"
#include "connection/channel.h"
#include "connection/handshake.h"
#include "connection/local_socket.h"
#include "lanes/ucx_endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int listen_at(const struct address *address, char *text, size_t capacity, pellucid_error *error) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    int on = 1, fd = -1;
    if (getaddrinfo(address->host, address->port, &hints, &found) == 0) {
        fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (fd >= 0 && (bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 64) != 0)) {
            close(fd);
            fd = -1;
        }
        freeaddrinfo(found);
    }
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&name, &length) != 0) {
        if (fd >= 0)
            close(fd);
        fail(error, PELLUCID_INVALID, "Choose another port (0: any free port) and an address of this machine.",
             "Cannot listen at %s:%s: %s.", address->host, address->port, strerror(errno));
        return -1;
    }
    unsigned port = ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
                                                     : ((struct sockaddr_in *)&name)->sin_port);
    snprintf(text, capacity, strchr(address->host, ':') ? "[%s]:%u" : "%s:%u", address->host, port);
    return fd;
}

int pellucid_listen(const char *address_text, const char *token, const pellucid_options *options,
                    pellucid_listener **result, pellucid_error *error) {
    pellucid_error unused;
    struct address address;
    char mark[17];
    error = error != NULL ? error : &unused;
    *result = NULL;
    TRY(parse_address(address_text, &address, error));
    TRY(check_token(token, error));
    TRY(check_lane(options != NULL ? options->lane : NULL, error));
    TRY(random_hex(8, mark, error));
    if (address.is_secure)
        return fail(error, PELLUCID_INVALID, "Use an address of the form host:port.",
                    "The C client does not listen with TLS.");
    pellucid_listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL)
        return out_of_memory(error, sizeof *listener);
    listener->options = with_defaults(options);
    listener->token = strdup(token);
    listener->partial.descriptor = -1;
    read_machine_id(listener->machine, sizeof listener->machine);
    snprintf(listener->local, sizeof listener->local, "pellucid-%s", mark);
    listener->sockets[1] = listen_local(listener->local);
    listener->sockets[0] = listen_at(&address, listener->address, sizeof listener->address, error);
    monitor_init(&listener->monitor, &listener->options);
    /* UCX is loaded only where it is useful: it installs signal handlers. */
    listener->has_ucx = (is_lane(listener->options.lane, UCX) || has_rdma()) && has_ucx_library();
    int code = listener->token == NULL    ? out_of_memory(error, 0)
               : listener->sockets[0] < 0 ? PELLUCID_INVALID
                                          : PELLUCID_OK;
    if (code != PELLUCID_OK) {
        pellucid_listener_close(listener);
        return code;
    }
    *result = listener;
    return PELLUCID_OK;
}

const char *pellucid_listener_address(const pellucid_listener *listener) { return listener->address; }

void pellucid_listener_close(pellucid_listener *listener) {
    if (listener == NULL)
        return;
    for (int i = 0; i < 2; i++)
        if (listener->sockets[i] >= 0)
            close(listener->sockets[i]);
    for (int i = 0; i < listener->waiting_count; i++)
        channel_close(&listener->waiting[i]);
    while (listener->candidate_count > 0)
        drop_candidate(listener, 0);
    transfer_free(&listener->partial);
    monitor_destroy(&listener->monitor);
    free(listener->token);
    free(listener);
}

void drop_candidate(pellucid_listener *listener, int index) {
    channel_close(&listener->candidates[index].channel);
    listener->candidates[index] = listener->candidates[--listener->candidate_count];
}
