/* Bytes on the socket of a channel: descriptors that travel with them, TLS. */
#ifndef PELLUCID_CONNECTION_SOCKET_IO_H
#define PELLUCID_CONNECTION_SOCKET_IO_H

#include "connection/channel.h"
#include "internal.h"

#include <signal.h>
#include <sys/types.h>

/* libssl writes without MSG_NOSIGNAL, also while it reads: SIGPIPE must not end the program. */
struct sigpipe {
    sigset_t before;
    int was_pending;
};

/* Send bytes; the descriptor travels with the first of them. */
INTERNAL ssize_t send_with_descriptor(int fd, const void *bytes, size_t count, int descriptor);
INTERNAL void block_sigpipe(struct sigpipe *sigpipe);
INTERNAL void restore_sigpipe(const struct sigpipe *sigpipe);
/* Read or write some bytes without frames. -1 with errno = EAGAIN: none yet. */
INTERNAL ssize_t transfer_raw(struct channel *channel, void *bytes, size_t count, int is_writing);

#endif
