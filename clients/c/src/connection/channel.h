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
    int passed_fd;   /* a descriptor that came with a message, or -1 */
    double deadline; /* for a handshake, by now_s(); 0: none */
    void *ssl;
    struct websocket *websocket; /* frames, where a web server is in between; else NULL */
    struct monitor *monitor;
};

INTERNAL void channel_clear(struct channel *channel);
INTERNAL void channel_start(struct channel *channel, int fd, struct monitor *monitor);
INTERNAL void channel_close(struct channel *channel);
INTERNAL int take_passed_fd(struct channel *channel);
/* The same, through whatever is in between. */
INTERNAL ssize_t transfer_some(struct channel *channel, void *bytes, size_t count, int is_writing);
/* What to do when nothing moved: go on waiting, or give up. since: when something moved last; negative: be patient. */
INTERNAL int check_stalled(struct channel *channel, double since, pellucid_error *error);
INTERNAL int transfer_all(struct channel *channel, void *bytes, size_t count, int is_writing, int has_no_timeout,
                          pellucid_error *error);
INTERNAL int write_bytes(struct channel *channel, const void *bytes, size_t count, pellucid_error *error);
INTERNAL int read_bytes(struct channel *channel, void *bytes, size_t count, pellucid_error *error);
/* Write two things, in one call where that can be: a head that goes alone is a packet of its own. */
INTERNAL int write_two(struct channel *channel, const void *header, size_t header_count, const void *bytes,
                       size_t count, pellucid_error *error);
/* Whether something can be read, or the other end is gone. */
INTERNAL int has_data(const struct channel *channel, int wait_ms);

#endif
