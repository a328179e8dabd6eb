#include "connection/http_response.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/text.h"
#include "connection/channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

struct reader {
    struct channel *channel;
    char bytes[READ_BUFFER_BYTES];
    size_t at, end;
};

/* Read at least one byte. is_over: the connection has ended. */
static int refill(struct reader *reader, int *is_over, pellucid_error *error) {
    double since = now_s();
    ssize_t got;
    while ((got = transfer_some(reader->channel, reader->bytes, sizeof reader->bytes, 0)) < 0)
        TRY(check_stalled(reader->channel, since, error));
    reader->at = 0;
    reader->end = (size_t)got;
    *is_over = got == 0;
    return PELLUCID_OK;
}

static int read_http_line(struct reader *reader, char line[MAX_LINE_BYTES], pellucid_error *error) {
    for (size_t length = 0; length < MAX_LINE_BYTES;) {
        int is_over = 0;
        if (reader->at == reader->end)
            TRY(refill(reader, &is_over, error));
        if (is_over)
            return transfer_interrupted(error, "the connection ended within a response");
        char next = reader->bytes[reader->at++];
        if (next == '\n') {
            line[length - (length > 0 && line[length - 1] == '\r')] = 0;
            return PELLUCID_OK;
        }
        line[length++] = next;
    }
    return protocol_error(error, "a line of its response is too long");
}

int reserve_response(struct response *response, size_t more, uint64_t limit, pellucid_error *error) {
    size_t needed = response->length + more;
    if (needed > limit)
        return protocol_error(error, "its response is larger than requested");
    if (needed + 1 > response->capacity) {
        size_t capacity = 2 * needed + 1;
        char *larger = realloc(response->body, capacity);
        if (larger == NULL)
            return out_of_memory(error, capacity);
        response->body = larger;
        response->capacity = capacity;
    }
    return PELLUCID_OK;
}

/* Read `count` bytes of the body; with UINT64_MAX, up to the end of the connection. */
static int read_body(struct reader *reader, uint64_t count, struct response *response, uint64_t limit,
                     pellucid_error *error) {
    while (count > 0) {
        int is_over = 0;
        if (reader->at == reader->end)
            TRY(refill(reader, &is_over, error));
        if (is_over)
            return count == UINT64_MAX ? PELLUCID_OK
                                       : transfer_interrupted(error, "the connection ended within a response");
        size_t here = reader->end - reader->at;
        here = here < count ? here : (size_t)count;
        TRY(reserve_response(response, here, limit, error));
        memcpy(response->body + response->length, reader->bytes + reader->at, here);
        response->length += here;
        reader->at += here;
        count -= count == UINT64_MAX ? 0 : here;
    }
    return PELLUCID_OK;
}

static int read_chunks(struct reader *reader, struct response *response, uint64_t limit, pellucid_error *error) {
    char line[MAX_LINE_BYTES];
    for (;;) {
        TRY(read_http_line(reader, line, error));
        size_t digits = strspn(line, "0123456789abcdefABCDEF");
        if (digits == 0 || digits > 15 || strchr("; ", line[digits]) == NULL)
            return protocol_error(error, "its response has a chunk of invalid size");
        uint64_t size = strtoull(line, NULL, 16);
        if (size == 0)
            break;
        TRY(read_body(reader, size, response, limit, error));
        TRY(read_http_line(reader, line, error));
        if (line[0] != 0)
            return protocol_error(error, "its response has a chunk that is longer than announced");
    }
    for (int i = 0; i < MAX_HEADER_LINES; i++) { /* trailers after the last chunk */
        TRY(read_http_line(reader, line, error));
        if (line[0] == 0)
            return PELLUCID_OK;
    }
    return protocol_error(error, "its response does not end");
}

/* Read the response header. length: of the body; UINT64_MAX: up to the end of the connection. */
static int read_http_header(struct reader *reader, struct response *response, uint64_t *length, int *is_chunked,
                            pellucid_error *error) {
    char line[MAX_LINE_BYTES];
    TRY(read_http_line(reader, line, error));
    if (strncmp(line, "HTTP/1.", 7) != 0 || sscanf(line + 8, " %3d", &response->status) != 1 || response->status < 100)
        return protocol_error(error, "its response is not HTTP");
    *length = UINT64_MAX;
    *is_chunked = 0;
    response->is_last = line[7] == '0'; /* HTTP/1.0 */
    for (int i = 0; i < MAX_HEADER_LINES; i++) {
        TRY(read_http_line(reader, line, error));
        if (line[0] == 0)
            return PELLUCID_OK;
        if (strncasecmp(line, "content-length:", 15) == 0) {
            const char *number = json_skip_space(line + 15);
            if (!parse_number(number, number + strlen(number), length))
                return protocol_error(error, "its response has an invalid length");
        }
        if (strncasecmp(line, "transfer-encoding:", 18) == 0)
            *is_chunked = strcasestr(line, "chunked") != NULL;
        if (strncasecmp(line, "connection:", 11) == 0)
            response->is_last = strcasestr(line, "close") != NULL;
    }
    return protocol_error(error, "the header of its response is too long");
}

int read_http(struct channel *channel, struct response *response, uint64_t limit, pellucid_error *error) {
    struct reader *reader = calloc(1, sizeof *reader);
    uint64_t length = 0;
    int is_chunked = 0, code = reader == NULL ? out_of_memory(error, sizeof *reader) : PELLUCID_OK;
    if (code == PELLUCID_OK) {
        reader->channel = channel;
        do /* 1xx: the final response follows */
            code = read_http_header(reader, response, &length, &is_chunked, error);
        while (code == PELLUCID_OK && response->status < 200);
    }
    /* Error responses may be longer than the expected response. */
    limit = response->status >= 300 ? MAX_RESPONSE_BYTES : limit;
    if (code == PELLUCID_OK && response->status != 204)
        code = is_chunked ? read_chunks(reader, response, limit, error)
                          : read_body(reader, length, response, limit, error);
    code = code != PELLUCID_OK ? code : reserve_response(response, 0, UINT64_MAX, error);
    if (code == PELLUCID_OK)
        response->body[response->length] = 0;
    free(reader);
    return code;
}
