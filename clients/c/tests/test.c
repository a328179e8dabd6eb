/* What the C ends do with each other, and what is inside. Includes the source to reach it. Prints the tests as it goes. */
#include "../pellucid.c"

static int failures;

#define CHECK(claim)                                                      \
    do {                                                                  \
        if (!(claim)) {                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim);   \
            failures++;                                                   \
        }                                                                 \
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
    } known[] = {
        {0, 0x2d06800538d394c2u}, {1, 0x13e608bc156defedu}, {2, 0x1c9074b93943b86cu},
        {3, 0xa9088dda485b481cu}, {4, 0x6d9253b16c8b1ed3u}, {7, 0x8e8291ad89127e2eu},
        {8, 0x60539db630471163u}, {9, 0xfeff668361d723a8u}, {13, 0x67f77075aba7f824u},
        {16, 0xb8c859b0f030b585u}, {17, 0x714a04408e79b80fu}, {31, 0xed41ac283d0674b3u},
        {32, 0x19ff4ee1d6ba1a55u}, {33, 0x3e44983ad21679c8u}, {64, 0x287eb1fa9e4be2c1u},
        {65, 0x829218de4d798646u}, {96, 0xf084e7cfbc624743u}, {97, 0x1daa83271a8e7b7cu},
        {128, 0x67425a03650261bfu}, {129, 0xc664bf3311c6abc4u}, {144, 0x606a17fa700bb932u},
        {200, 0x746cd0025327bf5bu}, {239, 0x1d861931c1f3cafau}, {240, 0x64556dc6b462a6cfu},
        {241, 0x8beadd3a8874fe17u}, {256, 0x3c38817f6d79c0dau}, {511, 0xe3fca5c97aa72e1bu},
        {512, 0xf58202b8d9019d1du}, {1023, 0xd26986a0b85dcc44u}, {1024, 0x9b81661c641c72b1u},
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
        pellucid_array array = {.data = voxels, .axes = 3, .shape = {2, 3, 2}, .type = (pellucid_type)type,
                                .spacing = {3, 2, 1}, .unit = "um", .name = "a\nb", .metadata = "{\"a\": 1}"};
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
    CHECK(ends->code == PELLUCID_TOO_LARGE && strstr(ends->error.what, "16 bytes") && strstr(ends->error.what, "15 bytes"));
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
    printf(failures == 0 ? "all right\n" : "%d failures\n", failures);
    return failures != 0;
}
