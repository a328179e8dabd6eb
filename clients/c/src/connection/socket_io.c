#include "connection/socket_io.h"
#include "base/tls_library.h"
#include "connection/channel.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* Keep the first descriptor of a message, and close all others. */
static void collect_descriptors(struct channel *channel, struct msghdr *message) {
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int)) {
            int fd;
            memcpy(&fd, (const uint8_t *)header + at, sizeof fd);
            if (channel->passed_fd < 0)
                channel->passed_fd = fd;
            else
                close(fd);
        }
    }
}

union ancillary {
    char space[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

static ssize_t receive_with_descriptors(struct channel *channel, void *to, size_t count) {
    union ancillary ancillary;
    struct iovec part = {to, count};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
    ssize_t got = recvmsg(channel->fd, &message, MSG_CMSG_CLOEXEC);
    if (got >= 0)
        collect_descriptors(channel, &message);
    return got;
}

ssize_t send_with_descriptor(int fd, const void *bytes, size_t count, int descriptor) {
    union ancillary ancillary;
    struct iovec part = {(void *)(uintptr_t)bytes, count};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
    memset(&ancillary, 0, sizeof ancillary);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

void block_sigpipe(struct sigpipe *sigpipe) {
    sigset_t pipe_only, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    sigpipe->was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &sigpipe->before);
}

void restore_sigpipe(const struct sigpipe *sigpipe) {
    sigset_t pipe_only, pending;
    struct timespec at_once = {0, 0};
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    if (!sigpipe->was_pending && sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_only, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &sigpipe->before, NULL);
}

static ssize_t transfer_tls(struct channel *channel, void *bytes, size_t count, int is_writing) {
    int most = count > 1 << 30 ? 1 << 30 : (int)count;
    struct sigpipe sigpipe;
    block_sigpipe(&sigpipe);
    tls()->clear_errors();
    errno = 0;
    int moved = is_writing ? tls()->write(channel->ssl, bytes, most) : tls()->read(channel->ssl, bytes, most);
    int fault = errno, why = moved > 0 ? 0 : tls()->get_error(channel->ssl, moved);
    restore_sigpipe(&sigpipe);
    if (moved > 0)
        return moved;
    if (why == SSL_IS_OVER)
        return 0;
    errno = why == SSL_WANTS_READ || why == SSL_WANTS_WRITE ? EAGAIN
            : fault == 0 || fault == EAGAIN                 ? ECONNRESET
                                                            : fault;
    return -1;
}

ssize_t transfer_raw(struct channel *channel, void *bytes, size_t count, int is_writing) {
    if (channel->ssl != NULL)
        return transfer_tls(channel, bytes, count, is_writing);
    if (is_writing)
        return send(channel->fd, bytes, count, MSG_NOSIGNAL);
    return channel->is_local ? receive_with_descriptors(channel, bytes, count) : recv(channel->fd, bytes, count, 0);
}
