/* HTTP responses and WebSocket frames, also malformed ones. */
#include "base/monitor.h"
#include "check.h"
#include "connection/websocket.h"
#include "viewer/http_arrays.h"
#include "connection/http_response.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Read what a peer sent as an HTTP response. */
static int read_as_http(const char *input, size_t length, uint64_t limit, struct response *response) {
    int ends[2];
    struct monitor monitor;
    struct channel channel;
    pellucid_options options = {.timeout_s = 5};
    memset(response, 0, sizeof *response);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], input, length) == (ssize_t)length);
    close(ends[1]);
    monitor_init(&monitor, &options);
    channel_start(&channel, ends[0], &monitor);
    int code = read_http(&channel, response, limit, NULL);
    channel_close(&channel);
    monitor_destroy(&monitor);
    return code;
}

void test_responses(void) {
    static const struct {
        const char *input, *body; /* NULL: to be refused */
    } cases[] = {{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd", "abc"},
                 {"HTTP/1.1 200 OK\r\n\r\nabc", "abc"},
                 {"HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 204 Nothing\r\n\r\n", ""},
                 {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", "abcde"},
                 {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", NULL},
                 {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc\r\n", NULL},
                 {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffff\r\nabc\r\n", NULL},
                 {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n", NULL},
                 {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", NULL},
                 {"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nabc", NULL},
                 {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc", NULL},
                 {"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nabc", NULL},
                 {"HTTP/1.1 200 OK\r\n\r\nfar more than was asked for", NULL},
                 {"SSH-2.0-OpenSSH\r\n", NULL},
                 {"HTTP/1.1 -12 No\r\n\r\n", NULL},
                 {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct response response;
        int code = read_as_http(cases[i].input, strlen(cases[i].input), 8, &response);
        CHECK((code == PELLUCID_OK) == (cases[i].body != NULL));
        CHECK(code != PELLUCID_OK || strcmp(response.body, cases[i].body) == 0);
        free(response.body);
    }
    struct response response;
    size_t length = 3 * MAX_LINE_BYTES;
    char *endless = malloc(length);
    memset(endless, 'a', length);
    memcpy(endless, "HTTP/1.1 200 OK\r\n", 17);
    CHECK(read_as_http(endless, length, 8, &response) == PELLUCID_PROTOCOL);
    free(response.body);
    free(endless);
    pellucid_array array = {0};
    struct response npy = {.body = "\x93NUMPY\x01\x00\xff\xff{'descr': '<u2', 'shape': (1, 1, 1)}", .length = 46};
    CHECK(parse_npy_header(&npy, &array) == 0);
}

/* Read frames from a peer that sent this and disconnected; the number of bytes, or -1. */
static ssize_t read_as_frames(const void *input, size_t length, char *bytes, size_t capacity) {
    int ends[2];
    struct monitor monitor;
    struct channel channel;
    pellucid_options options = {.timeout_s = 5};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], input, length) == (ssize_t)length);
    shutdown(ends[1], SHUT_WR);
    monitor_init(&monitor, &options);
    channel_start(&channel, ends[0], &monitor);
    channel.websocket = calloc(1, sizeof *channel.websocket);
    ssize_t got = 0, now;
    while ((now = transfer_some(&channel, bytes + got, capacity - (size_t)got, 0)) > 0)
        got += now;
    channel_close(&channel);
    close(ends[1]);
    monitor_destroy(&monitor);
    return now < 0 ? -1 : got;
}

void test_frames(void) {
    char bytes[64];
    CHECK(read_as_frames("\x82\x03"
                         "abc\x80\x02"
                         "de",
                         9, bytes, sizeof bytes) == 5 &&
          memcmp(bytes, "abcde", 5) == 0);
    CHECK(read_as_frames("\x82\x7e\x00\x03"
                         "abc\x89\x01x\x8a\x00\x82\x01"
                         "d",
                         15, bytes, sizeof bytes) == 4);
    CHECK(read_as_frames("\x82\x01"
                         "a\x88\x02\x03\xe8\x82\x01"
                         "b",
                         10, bytes, sizeof bytes) == 1); /* over */
    CHECK(read_as_frames("\x82\x83"
                         "1234abc",
                         9, bytes, sizeof bytes) == -1); /* masked */
    CHECK(read_as_frames("\x83\x01"
                         "a",
                         3, bytes, sizeof bytes) == -1);                     /* no kind */
    CHECK(read_as_frames("\x89\x7e\x00\x7e", 4, bytes, sizeof bytes) == -1); /* a long ping */
    CHECK(read_as_frames("\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff"
                         "ab",
                         12, bytes, sizeof bytes) == 2);
    struct websocket *websocket = calloc(1, sizeof *websocket);
    size_t lengths[] = {0, 1, 125, 126, 65535, 65536, FRAME_BYTES};
    uint8_t *content = calloc(1, FRAME_BYTES);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        CHECK(build_frame(websocket, WS_BINARY, content, lengths[i]));
        size_t header = websocket->out_end - lengths[i];
        CHECK(header == (lengths[i] < 126     ? 6u
                         : lengths[i] < 65536 ? 8u
                                              : 14u) &&
              websocket->out_end <= sizeof websocket->out);
        CHECK(lengths[i] == 0 ||
              memcmp(websocket->out + header, websocket->out + header - 4, 1) == 0); /* nothing, masked, is the mask */
    }
    free(content);
    free(websocket);
}
