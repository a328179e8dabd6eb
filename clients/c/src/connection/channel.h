/* Channels: one connection, read and written in short turns so that a cancel is noticed. */
#ifndef PELLUCID_CONNECTION_CHANNEL_H
#define PELLUCID_CONNECTION_CHANNEL_H

#include "base/monitor.h"
#include "internal.h"

#include <sys/types.h>

enum { POLL_MS = 200 };

struct channel {
    int fd;
    int is_local;
    int passed_fd;   /* a descriptor received with a message, or -1 */
    double deadline; /* for a handshake, by now_s(); 0: none */
    void *ssl;
    struct websocket *websocket; /* set if the connection goes through a web server */
    struct monitor *monitor;
};

INTERNAL void channel_clear(struct channel *channel);
INTERNAL void channel_start(struct channel *channel, int fd, struct monitor *monitor);
INTERNAL void channel_close(struct channel *channel);
INTERNAL int take_passed_fd(struct channel *channel);
/* Read or write some bytes, with or without WebSocket frames. -1 with errno = EAGAIN: none yet. */
INTERNAL ssize_t transfer_some(struct channel *channel, void *bytes, size_t count, int is_writing);
/* Call this when no bytes moved: fails after the timeout. since: when bytes last moved; negative: no timeout. */
INTERNAL int check_stalled(struct channel *channel, double since, pellucid_error *error);
INTERNAL int transfer_all(struct channel *channel, void *bytes, size_t count, int is_writing, int has_no_timeout,
                          pellucid_error *error);
INTERNAL int write_bytes(struct channel *channel, const void *bytes, size_t count, pellucid_error *error);
INTERNAL int read_bytes(struct channel *channel, void *bytes, size_t count, pellucid_error *error);
/* Write a header and bytes, if possible in one call: alone, the header would be a packet of its own. */
INTERNAL int write_two(struct channel *channel, const void *header, size_t header_count, const void *bytes,
                       size_t count, pellucid_error *error);
/* Whether data can be read, or the peer has disconnected. */
INTERNAL int has_data(const struct channel *channel, int wait_ms);

#endif
