/* A network that is cut once, in the middle. */
#include "check.h"
#include "ends.h"
#include "transfer/listener.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct relay {
    int listening, target_port, budget;
    pthread_t thread;
};

/* Forward in one thread, both ways, all connections; when the budget is used up everything is closed, once. */
static void *relay_main(void *argument) {
    struct relay *relay = argument;
    struct pollfd fds[41] = {{relay->listening, POLLIN, 0}};
    static char bytes[1 << 16];
    int count = 1;
    for (;;) {
        poll(fds, (nfds_t)count, -1);
        if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
            break;
        for (int i = 1; i < count; i++) {
            if (fds[i].revents == 0)
                continue;
            int other = (i - 1) % 2 == 0 ? i + 1 : i - 1;
            ssize_t got = fds[i].fd < 0 ? 0 : recv(fds[i].fd, bytes, sizeof bytes, 0);
            for (ssize_t sent = 0, now; got > 0 && sent < got; sent += now)
                if ((now = send(fds[other].fd, bytes + sent, (size_t)(got - sent), MSG_NOSIGNAL)) <= 0)
                    got = 0;
            relay->budget -= (i - 1) % 2 == 0 ? (int)got : 0;
            int is_cut = relay->budget < 0 && relay->budget > -(1 << 30);
            for (int k = is_cut ? 1 : got <= 0 ? i : count; k < (is_cut ? count : i + 1); k++) {
                int pair = (k - 1) % 2 == 0 ? k + 1 : k - 1;
                if (fds[k].fd >= 0)
                    close(fds[k].fd);
                if (fds[pair].fd >= 0)
                    close(fds[pair].fd);
                fds[k].fd = fds[pair].fd = -1;
            }
            if (is_cut)
                relay->budget = -(1 << 30) - (1 << 29);
        }
        if (fds[0].revents & POLLIN && count < 40) {
            fds[count] = (struct pollfd){accept(relay->listening, NULL, NULL), POLLIN, 0};
            fds[count + 1] = (struct pollfd){dial(relay->target_port), POLLIN, 0};
            count += 2;
        }
    }
    for (int i = 1; i < count; i++)
        if (fds[i].fd >= 0)
            close(fds[i].fd);
    return NULL;
}

void test_lost_connection(void) {
    uint32_t *voxels = many_voxels();
    pellucid_array array = {.data = voxels, .axes = 1, .shape = {COUNT}, .type = PELLUCID_UINT32}, received;
    struct ends *ends = open_ends("tcp", 0);
    struct address near = {.host = "127.0.0.1", .port = "0"};
    pellucid_error error;
    char through[64];
    struct relay relay = {.budget = 12 << 20, .target_port = atoi(strrchr(ends->listener->address, ':') + 1)};
    relay.listening = listen_at(&near, through, sizeof through, &error);
    pthread_create(&relay.thread, NULL, relay_main, &relay);
    /* The sender connects to the relay; the listener does not know of it. */
    char direct[sizeof ends->listener->address];
    memcpy(direct, ends->listener->address, sizeof direct);
    snprintf(ends->listener->address, sizeof ends->listener->address, "%s", through);
    CHECK(exchange(ends, &array, &received, 20) == PELLUCID_OK && ends->code == PELLUCID_OK);
    CHECK(memcmp(received.data, voxels, sizeof *voxels * COUNT) == 0);
    CHECK(ends->report.resumed_bytes >= 4 << 20 && ends->report.resumed_bytes < sizeof *voxels * COUNT);
    CHECK(ends->report.bytes == sizeof *voxels * COUNT - ends->report.resumed_bytes);
    pellucid_free(&received);
    shutdown(relay.listening, SHUT_RDWR);
    pthread_join(relay.thread, NULL);
    close(relay.listening);
    memcpy(ends->listener->address, direct, sizeof direct);
    close_ends(ends);
    free(voxels);
}

static void *cut_stream_main(void *argument) {
    struct ends *ends = argument;
    pellucid_array volume = {.axes = 3, .shape = {40, 256, 1024}, .type = PELLUCID_UINT16, .name = "stream"};
    uint16_t *slice = malloc(256 * 1024 * sizeof *slice);
    pellucid_stream *stream;
    const char *address = pellucid_listener_address(ends->listener);
    ends->code = pellucid_stream_open(address, TOKEN, &volume, &ends->options, &stream, &ends->error);
    for (uint64_t z = 0; z < 40 && ends->code == PELLUCID_OK; z++) {
        uint64_t start[3] = {z, 0, 0}, shape[3] = {1, 256, 1024};
        for (size_t i = 0; i < 256 * 1024; i++)
            slice[i] = (uint16_t)(i * 7 + z);
        ends->code = pellucid_stream_write(stream, slice, start, shape, &ends->error);
    }
    free(slice);
    if (ends->code == PELLUCID_OK)
        ends->code = pellucid_stream_close(stream, &ends->error);
    return NULL;
}

/* A lost stream is resumed, and the blocks in flight are sent again. */
void test_lost_stream(void) {
    struct ends *ends = open_ends("tcp", 0);
    struct address near = {.host = "127.0.0.1", .port = "0"};
    pellucid_array received;
    pellucid_error error;
    pthread_t thread;
    char through[64], direct[sizeof ends->listener->address];
    struct relay relay = {.budget = 9 << 20, .target_port = atoi(strrchr(ends->listener->address, ':') + 1)};
    relay.listening = listen_at(&near, through, sizeof through, &error);
    pthread_create(&relay.thread, NULL, relay_main, &relay);
    memcpy(direct, ends->listener->address, sizeof direct);
    snprintf(ends->listener->address, sizeof ends->listener->address, "%s", through);
    pthread_create(&thread, NULL, cut_stream_main, ends);
    CHECK(pellucid_receive(ends->listener, 20, &received, NULL, &error) == PELLUCID_OK);
    pthread_join(thread, NULL);
    CHECK(ends->code == PELLUCID_OK && relay.budget < 0);
    const uint16_t *voxels = received.data;
    int wrong = received.data == NULL;
    for (size_t i = 0; i < (size_t)40 * 256 * 1024 && received.data != NULL; i++)
        wrong += voxels[i] != (uint16_t)(i % (256 * 1024) * 7 + i / (256 * 1024));
    CHECK(wrong == 0);
    pellucid_free(&received);
    shutdown(relay.listening, SHUT_RDWR);
    pthread_join(relay.thread, NULL);
    close(relay.listening);
    memcpy(ends->listener->address, direct, sizeof direct);
    close_ends(ends);
}
