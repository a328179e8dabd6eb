/* What the C ends do with each other, and what is inside. Includes the source to reach it. */
#include "../pellucid.c"

static int failures;

#define CHECK(claim)                                                    \
    do {                                                                \
        if (!(claim)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim); \
            failures++;                                                 \
        }                                                               \
    } while (0)

static const char TOKEN[] = "correct horse battery";
enum { COUNT = 5 * (1 << 20) + 77 };

/* ---- Inside ---- */

static void test_hashes(void) {
    char proof[NONCE_TEXT];
    static uint8_t bytes[2048];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + 3);
    keyed_hash("Jefe", "what do ya want for nothing?", proof); /* RFC 4231, case 2 */
    CHECK(strcmp(proof, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843") == 0);
    /* Computed with the reference implementation. */
    static const struct {
        size_t length;
        uint64_t hash;
    } known[] = {{0, 0x2d06800538d394c2u},    {1, 0x13e608bc156defedu},    {2, 0x1c9074b93943b86cu},
                 {3, 0xa9088dda485b481cu},    {4, 0x6d9253b16c8b1ed3u},    {7, 0x8e8291ad89127e2eu},
                 {8, 0x60539db630471163u},    {9, 0xfeff668361d723a8u},    {13, 0x67f77075aba7f824u},
                 {16, 0xb8c859b0f030b585u},   {17, 0x714a04408e79b80fu},   {31, 0xed41ac283d0674b3u},
                 {32, 0x19ff4ee1d6ba1a55u},   {33, 0x3e44983ad21679c8u},   {64, 0x287eb1fa9e4be2c1u},
                 {65, 0x829218de4d798646u},   {96, 0xf084e7cfbc624743u},   {97, 0x1daa83271a8e7b7cu},
                 {128, 0x67425a03650261bfu},  {129, 0xc664bf3311c6abc4u},  {144, 0x606a17fa700bb932u},
                 {200, 0x746cd0025327bf5bu},  {239, 0x1d861931c1f3cafau},  {240, 0x64556dc6b462a6cfu},
                 {241, 0x8beadd3a8874fe17u},  {256, 0x3c38817f6d79c0dau},  {511, 0xe3fca5c97aa72e1bu},
                 {512, 0xf58202b8d9019d1du},  {1023, 0xd26986a0b85dcc44u}, {1024, 0x9b81661c641c72b1u},
                 {1025, 0x806c2072ed713576u}, {1087, 0x0d058f8dbd85227eu}, {1088, 0x2f8781e01841f0dau},
                 {1089, 0x2a90437fe231e7e8u}, {2047, 0xe36fcecaa2c0ecbau}, {2048, 0xabe604813ba62ed1u}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK(xxh3(bytes, known[i].length) == known[i].hash);
    uint64_t plain[8] = {1, 2, 3, 4, 5, 6, 7, 8}, fast[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    accumulate_many(plain, bytes, 16);
    fastest()(fast, bytes, 16);
    CHECK(memcmp(plain, fast, sizeof plain) == 0);
}

static void test_addresses(void) {
    struct address address;
    pellucid_error error;
    CHECK(address_read("node7:5100", &address, &error) == PELLUCID_OK && strcmp(address.host, "node7") == 0);
    CHECK(address_read("[::1]:80", &address, &error) == PELLUCID_OK && strcmp(address.host, "::1") == 0);
    CHECK(address_read(":80", &address, &error) == PELLUCID_OK && strcmp(address.host, "127.0.0.1") == 0);
    const char *wrong[] = {"node7", "node7:", "node7:70000", "tls://node7:80", "node7:80#12", NULL};
    for (int i = 0; i < 6; i++)
        CHECK(address_read(wrong[i], &address, &error) == PELLUCID_INVALID);
}

static int text_is(const char *json, const char *key, const char *expected) {
    char *text = json_text(json, key);
    int is_right = expected == NULL ? text == NULL : text != NULL && strcmp(text, expected) == 0;
    free(text);
    return is_right;
}

static void test_json(void) {
    const char *json =
        " {\"kind\": \"what\", \"in\": {\"what\": [1, \"}\"], \"deep\": {}}, \"n\" : -1.5e3, \"what\": \"a\\\"b\"}";
    CHECK(text_is(json, "kind", "what") && text_is(json, "what", "a\"b") && text_is(json, "deep", NULL));
    CHECK(text_is(json, "n", NULL) && strncmp(json_find(json, "n"), "-1.5e3", 6) == 0);
    CHECK(text_is("{\"a\": \"\\u00e4\\ud83d\\ude00\\n\\/\\u0041\"}", "a", "\xc3\xa4\xf0\x9f\x98\x80\n/A"));
    const char *damaged[] = {"",
                             "{",
                             "[]",
                             "{\"a\"",
                             "{\"a\":",
                             "{\"a\": \"",
                             "{\"a\": \"\\",
                             "{\"b\": [[[, \"a\": \"x\"}",
                             "{\"b\" \"a\": \"x\"}",
                             "{\"b\": }}}, \"a\": \"x\"}",
                             "{\"a\": 7}"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        CHECK(text_is(damaged[i], "a", NULL));
    CHECK(text_is(NULL, "a", NULL) && text_is("{\"a\": \"\\u12\"}", "a", "u12") &&
          text_is("{\"a\": \"\\ud800\\u\"}", "a", "\xed\xa0\x80u"));
    struct text text = {0};
    add_json(&text, "a\"\\\n\x1f\xc3\xa4");
    CHECK(strcmp(text.at, "\"a\\\"\\\\\\u000a\\u001f\xc3\xa4\"") == 0);
    free(text.at);
    char *wished = wished_metadata(" { } ", NULL, "volume", NULL);
    CHECK(strcmp(wished, "{\"pellucid\": {\"kind\": \"volume\", \"how\": \"replace\"} } ") == 0);
    free(wished);
    CHECK(wished_metadata("[1]", NULL, "volume", NULL) == NULL &&
          wished_metadata("{} x", NULL, "volume", NULL) == NULL);
}

static int url_is(const char *url, const char *host, const char *port, const char *prefix, const char *token,
                  int is_secure) {
    struct place place = {0};
    int is_right = read_url(url, NULL, &place, NULL) == PELLUCID_OK && strcmp(place.address.host, host) == 0 &&
                   strcmp(place.address.port, port) == 0 && strcmp(place.prefix, prefix) == 0 &&
                   strcmp(place.code != NULL ? place.code : place.bearer, token) == 0 && place.address.is_secure == is_secure;
    place_free(&place);
    return is_right;
}

static void test_urls(void) {
    CHECK(url_is("http://127.0.0.1:80/#code=abc", "127.0.0.1", "80", "", "abc", 0));
    CHECK(url_is("https://node7/a/b/?x=1#y=2&share=abc&state=f", "node7", "443", "/a/b", "abc", 1));
    CHECK(url_is("http://[::1]:5000#share=abc", "::1", "5000", "", "abc", 0));
    CHECK(url_is("https://[::1]/#code=abc", "::1", "443", "", "abc", 1));
    const char *wrong[] = {NULL,
                           "",
                           "ftp://a/#code=b",
                           "http://",
                           "http:///#code=b",
                           "http://a/",
                           "http://a/#code=",
                           "http://a/?token=b",
                           "http://a/#code=b\r\nX: 1",
                           "http://a:b/#code=c"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!url_is(wrong[i], "a", "80", "", "b", 0));
    struct place place = {0};
    const char *pinned = "https://a:1/#share=b&pin=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    CHECK(read_url(pinned, NULL, &place, NULL) == PELLUCID_OK && strlen(place.address.pin) == 64);
    place_free(&place);
}

/* What somebody at the other end of a line says, read as an answer. */
static int read_as_http(const char *said, size_t length, uint64_t limit, struct answer *answer) {
    int ends[2];
    struct watch watch;
    struct channel channel;
    pellucid_options options = {.timeout_s = 5};
    memset(answer, 0, sizeof *answer);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], said, length) == (ssize_t)length);
    close(ends[1]);
    watch_start(&watch, &options);
    channel_start(&channel, ends[0], &watch);
    int code = read_http(&channel, answer, limit, NULL);
    channel_close(&channel);
    watch_end(&watch);
    return code;
}

static void test_answers(void) {
    static const struct {
        const char *said, *body; /* NULL: to be refused */
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
        struct answer answer;
        int code = read_as_http(cases[i].said, strlen(cases[i].said), 8, &answer);
        CHECK((code == PELLUCID_OK) == (cases[i].body != NULL));
        CHECK(code != PELLUCID_OK || strcmp(answer.body, cases[i].body) == 0);
        free(answer.body);
    }
    struct answer answer;
    size_t length = 3 * LONGEST_LINE;
    char *endless = malloc(length);
    memset(endless, 'a', length);
    memcpy(endless, "HTTP/1.1 200 OK\r\n", 17);
    CHECK(read_as_http(endless, length, 8, &answer) == PELLUCID_PROTOCOL);
    free(answer.body);
    free(endless);
    pellucid_array array = {0};
    struct answer npy = {.body = "\x93NUMPY\x01\x00\xff\xff{'descr': '<u2', 'shape': (1, 1, 1)}", .length = 46};
    CHECK(read_npy_head(&npy, &array) == 0);
}

/* A channel with frames, whose other end has said this and gone; the bytes that come through, or -1. */
static ssize_t read_as_frames(const void *said, size_t length, char *bytes, size_t room) {
    int ends[2];
    struct watch watch;
    struct channel channel;
    pellucid_options options = {.timeout_s = 5};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], said, length) == (ssize_t)length);
    shutdown(ends[1], SHUT_WR);
    watch_start(&watch, &options);
    channel_start(&channel, ends[0], &watch);
    channel.web = calloc(1, sizeof *channel.web);
    ssize_t got = 0, now;
    while ((now = some(&channel, bytes + got, room - (size_t)got, 0)) > 0)
        got += now;
    channel_close(&channel);
    close(ends[1]);
    watch_end(&watch);
    return now < 0 ? -1 : got;
}

static void test_frames(void) {
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
    struct web *web = calloc(1, sizeof *web);
    size_t lengths[] = {0, 1, 125, 126, 65535, 65536, FRAME_BYTES};
    uint8_t *content = calloc(1, FRAME_BYTES);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        CHECK(make_frame(web, WS_BINARY, content, lengths[i]));
        size_t head = web->out_end - lengths[i];
        CHECK(head == (lengths[i] < 126 ? 6u : lengths[i] < 65536 ? 8u : 14u) && web->out_end <= sizeof web->out);
        CHECK(lengths[i] == 0 ||
              memcmp(web->out + head, web->out + head - 4, 1) == 0); /* nothing, masked, is the mask */
    }
    free(content);
    free(web);
}

/* ---- Two ends ---- */

struct ends {
    pellucid_listener *listener;
    const char *lane;
    const pellucid_array *array;
    int code, repeats;
    pellucid_error error;
    pellucid_report report;
    pellucid_options options;
    const char *token;
};

static struct ends *open_ends(const char *lane, uint64_t limit_bytes) {
    struct ends *ends = calloc(1, sizeof *ends);
    pellucid_options options = {.limit_bytes = limit_bytes, .streams = 2};
    ends->lane = lane;
    ends->repeats = 1;
    ends->options.lane = lane;
    ends->token = TOKEN;
    CHECK(pellucid_listen("127.0.0.1:0", TOKEN, &options, &ends->listener, &ends->error) == PELLUCID_OK);
    return ends;
}

static void close_ends(struct ends *ends) {
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

/* Send in a thread while this one receives; the code of the receiving end. */
static int exchange(struct ends *ends, const pellucid_array *array, pellucid_array *received, double timeout_s) {
    pthread_t thread;
    pellucid_error error;
    ends->array = array;
    pthread_create(&thread, NULL, send_main, ends);
    int code = pellucid_receive(ends->listener, timeout_s, received, NULL, &error);
    pthread_join(thread, NULL);
    return code;
}

static void test_types(const char *lane) {
    struct ends *ends = open_ends(lane, 0);
    uint64_t voxels[24];
    memset(voxels, 1, sizeof voxels);
    for (int type = PELLUCID_BOOL; type <= PELLUCID_COMPLEX128; type++) {
        pellucid_array array = {.data = voxels,
                                .axes = 3,
                                .shape = {2, 3, 2},
                                .type = (pellucid_type)type,
                                .spacing = {3, 2, 1},
                                .unit = "um",
                                .name = "a\nb",
                                .metadata = "{\"a\": 1}"};
        pellucid_array received;
        CHECK(exchange(ends, &array, &received, 10) == PELLUCID_OK && ends->code == PELLUCID_OK);
        CHECK(received.type == array.type && received.axes == 3 && received.shape[2] == 2);
        CHECK(memcmp(received.data, voxels, pellucid_bytes(&array)) == 0);
        CHECK(received.spacing[1] == 2 && strcmp(received.unit, "um") == 0 && strcmp(received.name, "a b") == 0);
        CHECK(strcmp(received.metadata, "{\"a\": 1}") == 0 && strcmp(ends->report.lane, lane) == 0);
        pellucid_free(&received);
        pellucid_free(&received);
    }
    pellucid_array nothing = {.axes = 2, .shape = {0, 5}}, received;
    CHECK(exchange(ends, &nothing, &received, 10) == PELLUCID_OK && received.shape[1] == 5);
    pellucid_free(&received);
    close_ends(ends);
}

static uint32_t *many_voxels(void) {
    uint32_t *voxels = malloc(sizeof *voxels * COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        voxels[i] = i;
    return voxels;
}

static void test_pieces(const char *lane) {
    uint32_t *voxels = many_voxels();
    pellucid_array array = {.data = voxels, .axes = 1, .shape = {COUNT}, .type = PELLUCID_UINT32}, received;
    struct ends *ends = open_ends(lane, 0);
    for (ends->options.no_checksum = 0; ends->options.no_checksum < 2; ends->options.no_checksum++) {
        CHECK(exchange(ends, &array, &received, 10) == PELLUCID_OK && ends->code == PELLUCID_OK);
        CHECK(memcmp(received.data, voxels, sizeof *voxels * COUNT) == 0);
        CHECK(ends->report.bytes == sizeof *voxels * COUNT);
        pellucid_free(&received);
    }
    close_ends(ends);
    free(voxels);
}

static void test_refusals(const char *lane) {
    uint32_t voxels[4] = {1, 2, 3, 4};
    pellucid_array array = {.data = voxels, .axes = 1, .shape = {4}, .type = PELLUCID_UINT32}, received;
    struct ends *ends = open_ends(lane, 15);
    CHECK(exchange(ends, &array, &received, 0.5) == PELLUCID_TIMEOUT);
    CHECK(ends->code == PELLUCID_TOO_LARGE && strstr(ends->error.what, "16 bytes") &&
          strstr(ends->error.what, "15 bytes"));
    array.shape[0] = 3;
    ends->token = "wrong horse battery";
    CHECK(exchange(ends, &array, &received, 0.5) == PELLUCID_TIMEOUT && ends->code == PELLUCID_TOKEN);
    ends->token = TOKEN;
    CHECK(exchange(ends, &array, &received, 10) == PELLUCID_OK && ends->code == PELLUCID_OK);
    pellucid_free(&received);
    array.axes = 9;
    CHECK(pellucid_send("127.0.0.1:1", TOKEN, &array, NULL, NULL, &ends->error) == PELLUCID_INVALID);
    array.axes = 1;
    CHECK(pellucid_send("127.0.0.1:1", TOKEN, &array, NULL, NULL, &ends->error) == PELLUCID_UNREACHABLE);
    CHECK(pellucid_send("127.0.0.1:1", "short", &array, NULL, NULL, NULL) == PELLUCID_INVALID);
    CHECK(strcmp(pellucid_code_name(PELLUCID_TOKEN), "token") == 0);
    close_ends(ends);
}

static int cancel_late(void *context, uint64_t done, uint64_t total) {
    (void)context;
    return total > 0 && done > total / 2;
}

static void test_cancel(const char *lane) {
    uint32_t *voxels = many_voxels();
    pellucid_array array = {.data = voxels, .axes = 1, .shape = {COUNT}, .type = PELLUCID_UINT32}, received;
    struct ends *ends = open_ends(lane, 0);
    ends->options.progress = cancel_late;
    CHECK(exchange(ends, &array, &received, 1) == PELLUCID_TIMEOUT && ends->code == PELLUCID_CANCELLED);
    ends->options.progress = NULL;
    CHECK(exchange(ends, &array, &received, 10) == PELLUCID_OK && ends->code == PELLUCID_OK);
    pellucid_free(&received);
    close_ends(ends);
    free(voxels);
}

/* ---- A network that is cut once, in the middle ---- */

struct relay {
    int listening, target_port, budget;
    pthread_t thread;
};

static int dial(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

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

static void test_lost_connection(void) {
    uint32_t *voxels = many_voxels();
    pellucid_array array = {.data = voxels, .axes = 1, .shape = {COUNT}, .type = PELLUCID_UINT32}, received;
    struct ends *ends = open_ends("tcp", 0);
    struct address near = {.host = "127.0.0.1", .port = "0"};
    pellucid_error error;
    char through[64];
    struct relay relay = {.budget = 12 << 20, .target_port = atoi(strrchr(ends->listener->address, ':') + 1)};
    relay.listening = listen_at(&near, through, sizeof through, &error);
    pthread_create(&relay.thread, NULL, relay_main, &relay);
    /* The sender is told the relay's address; the listener does not know of it. */
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

/* A broken stream is taken up, and what was under way is sent again. */
static void test_lost_stream(void) {
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

static void *receive_main(void *argument) {
    struct ends *ends = argument;
    pellucid_array received;
    ends->code = pellucid_receive(ends->listener, 1, &received, NULL, &ends->error);
    return NULL;
}

/* A stream that breaks and cannot be taken up says so, as often as somebody tries. */
static void test_stream_for_nothing(void) {
    struct ends *ends = open_ends("tcp", 0);
    pellucid_array volume = {.axes = 3, .shape = {4, 512, 1024}, .type = PELLUCID_UINT16};
    uint16_t *slice = calloc(512 * 1024, sizeof *slice);
    uint64_t start[3] = {0, 0, 0}, shape[3] = {1, 512, 1024};
    pellucid_stream *stream;
    pellucid_error error;
    pthread_t thread;
    pthread_create(&thread, NULL, receive_main, ends);
    pellucid_options options = {.lane = "tcp", .attempts = 2};
    int code = pellucid_stream_open(ends->listener->address, TOKEN, &volume, &options, &stream, &error);
    CHECK(code == PELLUCID_OK);
    strcpy(stream->address.port, "1");
    for (int i = 0; i < stream->link.stream_count; i++)
        shutdown(stream->link.streams[i].fd, SHUT_RDWR);
    shutdown(stream->link.control.fd, SHUT_RDWR);
    CHECK(pellucid_stream_write(stream, slice, start, shape, &error) == PELLUCID_UNREACHABLE);
    CHECK(pellucid_stream_write(stream, slice, start, shape, &error) == PELLUCID_BROKEN);
    CHECK(pellucid_stream_close(stream, &error) == PELLUCID_UNREACHABLE);
    pthread_join(thread, NULL);
    CHECK(ends->code == PELLUCID_TIMEOUT);
    free(slice);
    close_ends(ends);
}

/* Somebody who says a part of a message, and more of them than have room, hold nobody up. */
static void test_strangers(void) {
    uint32_t voxels[4] = {1, 2, 3, 4};
    pellucid_array array = {.data = voxels, .axes = 1, .shape = {4}, .type = PELLUCID_UINT32}, received;
    struct ends *ends = open_ends("tcp", 0);
    int port = atoi(strrchr(ends->listener->address, ':') + 1), strangers[MOST_STRANGERS + 4];
    for (int i = 0; i < MOST_STRANGERS + 4; i++) {
        const char *said = i % 3 == 0   ? "PLT"
                           : i % 3 == 1 ? "PLT1\xff\xff\xff\xff\xff\xff\xff\xff"
                                        : "GET / HTTP/1.1\r\n\r\n";
        strangers[i] = dial(port);
        CHECK(send(strangers[i], said, strlen(said), MSG_NOSIGNAL) == (ssize_t)strlen(said));
    }
    double since = now_s();
    CHECK(exchange(ends, &array, &received, 10) == PELLUCID_OK && ends->code == PELLUCID_OK);
    CHECK(now_s() - since < HANDSHAKE_S);
    pellucid_free(&received);
    for (int i = 0; i < MOST_STRANGERS + 4; i++)
        close(strangers[i]);
    close_ends(ends);
}

/* A receiving end that asks for nonsense; what the sender makes of it. */
static void test_nonsense(void) {
    struct transfer transfer = {.bytes = 100, .array = {.type = PELLUCID_UINT16}};
    struct message message = {0};
    uint32_t *list, count;
    CHECK(!cut(&transfer, 0) && !cut(&transfer, 3) && !cut(&transfer, (uint64_t)1 << 33) && cut(&transfer, 10));
    transfer.bytes = (uint64_t)1 << 43;
    CHECK(!cut(&transfer, 2));
    transfer.bytes = 100;
    CHECK(cut(&transfer, 10) && transfer.count == 10);
    const char *wrong[] = {"ready\nmissing: 0-10",
                           "ready\nmissing: 5-4",
                           "ready\nmissing: 0-3 3-4",
                           "ready\nmissing: -1-4",
                           "ready\nmissing: 0-99999999999999999999",
                           "ready\nmissing: 0-9 0-9",
                           "ready\nmissing: 5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        message.head = (char *)(uintptr_t)wrong[i];
        CHECK(read_missing(&message, &transfer, &list, &count, NULL) == PELLUCID_PROTOCOL);
        free(list);
    }
    message.head = (char *)(uintptr_t)"ready\nmissing: 0-1 4-4 9-9";
    CHECK(read_missing(&message, &transfer, &list, &count, NULL) == PELLUCID_OK && count == 4 && list[3] == 9);
    free(list);
}

/* ---- Streams and memory that is asked for ---- */

static void *stream_main(void *argument) {
    struct ends *ends = argument;
    pellucid_array volume = {.axes = 3, .shape = {6, 20, 30}, .type = PELLUCID_UINT16, .name = "stream"};
    pellucid_stream *stream;
    const char *address = pellucid_listener_address(ends->listener);
    ends->code = pellucid_stream_open(address, TOKEN, &volume, &ends->options, &stream, &ends->error);
    if (ends->code != PELLUCID_OK)
        return NULL;
    for (uint64_t z = 0; z < 6; z++)
        for (uint64_t half = 0; half < 2; half++) {
            uint16_t block[20 * 15];
            uint64_t start[3] = {z, 0, 15 * half}, shape[3] = {1, 20, 15}, far[3] = {z, 1, 0};
            for (int i = 0; i < 20 * 15; i++)
                block[i] = (uint16_t)(10 * z + half);
            CHECK(pellucid_stream_write(stream, block, start, shape, &ends->error) == PELLUCID_OK);
            CHECK(pellucid_stream_write(stream, block, far, shape, &ends->error) == PELLUCID_INVALID);
        }
    ends->code = pellucid_stream_close(stream, &ends->error);
    return NULL;
}

static void test_stream(const char *lane) {
    struct ends *ends = open_ends(lane, 0);
    pthread_t thread;
    pellucid_array received;
    pthread_create(&thread, NULL, stream_main, ends);
    CHECK(pellucid_receive(ends->listener, 10, &received, NULL, NULL) == PELLUCID_OK);
    pthread_join(thread, NULL);
    CHECK(ends->code == PELLUCID_OK && received.axes == 3);
    const uint16_t *voxels = received.data;
    for (int i = 0; i < 6 * 20 * 30 && received.data != NULL; i++)
        CHECK(voxels[i] == 10 * (i / 600) + (i % 30 >= 15));
    pellucid_free(&received);
    close_ends(ends);
}

static void *allocate_main(void *argument) {
    struct ends *ends = argument;
    pellucid_array array = {.axes = 2, .shape = {3, 5}, .type = PELLUCID_INT32};
    pellucid_allocation *allocation;
    const char *address = pellucid_listener_address(ends->listener);
    ends->code = pellucid_allocate(address, TOKEN, &array, &ends->options, &allocation, &ends->error);
    if (ends->code != PELLUCID_OK)
        return NULL;
    for (int i = 0; i < 15; i++)
        ((int32_t *)array.data)[i] = i;
    ends->code = pellucid_commit(allocation, &ends->report, &ends->error);
    return NULL;
}

static void test_allocation(const char *lane) {
    struct ends *ends = open_ends(lane, 0);
    pthread_t thread;
    pellucid_array received;
    pthread_create(&thread, NULL, allocate_main, ends);
    CHECK(pellucid_receive(ends->listener, 10, &received, NULL, NULL) == PELLUCID_OK);
    pthread_join(thread, NULL);
    CHECK(ends->code == PELLUCID_OK && received.data != NULL && ((int32_t *)received.data)[14] == 14);
    CHECK(ends->report.bytes == (strcmp(lane, "shm") == 0 ? 0 : 60));
    pellucid_free(&received);
    close_ends(ends);
}

int main(void) {
    const char *lanes[] = {"shm", "tcp"};
    test_hashes();
    test_addresses();
    test_json();
    test_urls();
    test_answers();
    test_frames();
    test_nonsense();
    for (int i = 0; i < 2; i++) {
        printf("%s\n", lanes[i]);
        test_types(lanes[i]);
        test_pieces(lanes[i]);
        test_refusals(lanes[i]);
        test_cancel(lanes[i]);
        test_stream(lanes[i]);
        test_allocation(lanes[i]);
    }
    test_lost_connection();
    test_lost_stream();
    test_stream_for_nothing();
    test_strangers();
    printf(failures == 0 ? "all right\n" : "%d failures\n", failures);
    return failures != 0;
}
