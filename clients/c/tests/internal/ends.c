/* A listener and a sender in one process. */
#include "ends.h"
#include "check.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

struct ends *open_ends(const char *lane, uint64_t limit_bytes) {
    struct ends *ends = calloc(1, sizeof *ends);
    pellucid_options options = {.limit_bytes = limit_bytes, .streams = 2};
    ends->lane = lane;
    ends->repeats = 1;
    ends->options.lane = lane;
    ends->token = TOKEN;
    CHECK(pellucid_listen("127.0.0.1:0", TOKEN, &options, &ends->listener, &ends->error) == PELLUCID_OK);
    return ends;
}

void close_ends(struct ends *ends) {
    pellucid_listener_close(ends->listener);
    free(ends);
}

static void *send_main(void *argument) {
    struct ends *ends = argument;
    for (int i = 0; i < ends->repeats; i++)
        ends->code = pellucid_send(pellucid_listener_address(ends->listener), ends->token, ends->array, &ends->options,
                                   &ends->report, &ends->error);
    return NULL;
}

int exchange(struct ends *ends, const pellucid_array *array, pellucid_array *received, double timeout_s) {
    pthread_t thread;
    pellucid_error error;
    ends->array = array;
    pthread_create(&thread, NULL, send_main, ends);
    int code = pellucid_receive(ends->listener, timeout_s, received, NULL, &error);
    pthread_join(thread, NULL);
    return code;
}

uint32_t *many_voxels(void) {
    uint32_t *voxels = malloc(sizeof *voxels * COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        voxels[i] = i;
    return voxels;
}

int dial(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}
