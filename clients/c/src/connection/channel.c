#include "connection/channel.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "base/tls_library.h"
#include "connection/socket_io.h"
#include "connection/websocket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

void channel_clear(struct channel *channel) {
    memset(channel, 0, sizeof *channel);
    channel->fd = channel->passed_fd = -1;
}

void channel_start(struct channel *channel, int fd, struct monitor *monitor) {
    struct timeval poll_time = {0, POLL_MS * 1000};
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    channel_clear(channel);
    channel->fd = fd;
    channel->monitor = monitor;
    channel->is_local = getsockname(fd, (struct sockaddr *)&name, &length) == 0 && name.ss_family == AF_UNIX;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &poll_time, sizeof poll_time);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &poll_time, sizeof poll_time);
    if (!channel->is_local) {
        int on = 1, idle_s = 10, between_s = 5, probes = 4, silence_ms = 30000;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms);
    }
}

void channel_close(struct channel *channel) {
    if (channel->fd < 0)
        return;
    if (channel->ssl != NULL)
        tls()->free(channel->ssl);
    free(channel->websocket);
    if (channel->passed_fd >= 0)
        close(channel->passed_fd);
    shutdown(channel->fd, SHUT_RDWR);
    close(channel->fd);
    channel_clear(channel);
}

int take_passed_fd(struct channel *channel) {
    int fd = channel->passed_fd;
    channel->passed_fd = -1;
    return fd;
}

ssize_t transfer_some(struct channel *channel, void *bytes, size_t count, int is_writing) {
    if (channel->websocket == NULL)
        return transfer_raw(channel, bytes, count, is_writing);
    return is_writing ? write_frame(channel, bytes, count) : read_frame(channel, bytes, count);
}

int check_stalled(struct channel *channel, double since, pellucid_error *error) {
    int fault = errno;
    if (fault != EAGAIN && fault != EWOULDBLOCK && fault != EINTR)
        return transfer_interrupted(error, strerror(fault));
    TRY(report_progress(channel->monitor, 0, error));
    if ((since >= 0 && now_s() - since > channel->monitor->timeout_s) ||
        (channel->deadline > 0 && now_s() > channel->deadline))
        return transfer_interrupted(error, "no message from the peer before the timeout");
    return PELLUCID_OK;
}

int transfer_all(struct channel *channel, void *bytes, size_t count, int is_writing, int has_no_timeout,
                 pellucid_error *error) {
    double since = now_s();
    char *at = bytes;
    while (count > 0) {
        ssize_t moved = transfer_some(channel, at, count, is_writing);
        if (moved > 0) {
            at += moved;
            count -= (size_t)moved;
            since = now_s();
            if (channel->deadline > 0 && since > channel->deadline)
                return transfer_interrupted(error, "the peer did not finish the handshake in time");
        } else if (moved == 0) {
            return transfer_interrupted(error, "the peer closed the connection");
        } else {
            TRY(check_stalled(channel, has_no_timeout ? -1 : since, error));
        }
    }
    return PELLUCID_OK;
}

int write_bytes(struct channel *channel, const void *bytes, size_t count, pellucid_error *error) {
    return transfer_all(channel, (void *)(uintptr_t)bytes, count, 1, 0, error);
}

int read_bytes(struct channel *channel, void *bytes, size_t count, pellucid_error *error) {
    return transfer_all(channel, bytes, count, 0, 0, error);
}

int write_two(struct channel *channel, const void *header, size_t header_count, const void *bytes, size_t count,
              pellucid_error *error) {
    struct iovec parts[2] = {{(void *)(uintptr_t)header, header_count}, {(void *)(uintptr_t)bytes, count}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent =
        channel->ssl != NULL || channel->websocket != NULL ? 0 : sendmsg(channel->fd, &message, MSG_NOSIGNAL);
    size_t done = sent > 0 ? (size_t)sent : 0; /* the next write reports the error */
    size_t of_header = done < header_count ? done : header_count;
    TRY(write_bytes(channel, (const uint8_t *)header + of_header, header_count - of_header, error));
    return write_bytes(channel, (const uint8_t *)bytes + (done - of_header), count - (done - of_header), error);
}

int has_data(const struct channel *channel, int wait_ms) {
    struct pollfd waiting = {channel->fd, POLLIN, 0};
    if (channel->ssl != NULL && tls()->pending(channel->ssl) > 0)
        return 1;
    return poll(&waiting, 1, wait_ms) > 0;
}
