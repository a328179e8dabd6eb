#include "connection/messages.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/text.h"
#include "connection/channel.h"
#include "connection/socket_io.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

void message_free(struct message *message) {
    free(message->header);
    free(message->body);
    memset(message, 0, sizeof *message);
}

/* Write bytes; a descriptor travels with the first of them. */
static int write_with_descriptor(struct channel *channel, const char *bytes, size_t count, int descriptor,
                                 pellucid_error *error) {
    double since = now_s();
    ssize_t sent;
    while ((sent = send_with_descriptor(channel->fd, bytes, count, descriptor)) < 0)
        TRY(check_stalled(channel, since, error));
    return write_bytes(channel, bytes + sent, count - (size_t)sent, error);
}

int send_message(struct channel *channel, struct text *header, const void *body, size_t body_length, int descriptor,
                 pellucid_error *error) {
    uint32_t lengths[2] = {(uint32_t)header->length, (uint32_t)body_length};
    char prefix[12] = "PLT1";
    int code = PELLUCID_OK;
    memcpy(prefix + 4, lengths, sizeof lengths);
    if (header->has_failed || header->length > MAX_HEADER_BYTES || body_length > MAX_BODY_BYTES)
        code = fail(error, PELLUCID_INVALID, "Use shorter texts, or send them as an array.",
                    "A message is longer than the protocol allows.");
    else if (descriptor >= 0)
        code = write_with_descriptor(channel, prefix, sizeof prefix, descriptor, error);
    else
        code = write_bytes(channel, prefix, sizeof prefix, error);
    code = code != PELLUCID_OK ? code : write_bytes(channel, header->at, header->length, error);
    code = code != PELLUCID_OK ? code : write_bytes(channel, body, body_length, error);
    free(header->at);
    memset(header, 0, sizeof *header);
    return code;
}

int send_word(struct channel *channel, const char *word, pellucid_error *error) {
    struct text header = {0};
    append(&header, "%s", word);
    return send_message(channel, &header, "", 0, -1, error);
}

int is_kind(const struct message *message, const char *kind) {
    size_t length = strlen(kind);
    return strncmp(message->header, kind, length) == 0 &&
           (message->header[length] == '\n' || message->header[length] == 0);
}

const char *find_field(const struct message *message, const char *key, size_t *length) {
    size_t key_length = strlen(key);
    for (const char *line = strchr(message->header, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        if (strncmp(line + 1, key, key_length) == 0 && strncmp(line + 1 + key_length, ": ", 2) == 0) {
            const char *value = line + key_length + 3;
            *length = strcspn(value, "\n");
            return value;
        }
    }
    return NULL;
}

void copy_field(const struct message *message, const char *key, char *to, size_t capacity) {
    size_t length = 0;
    const char *value = find_field(message, key, &length);
    to[0] = 0;
    if (value != NULL && length < capacity) {
        memcpy(to, value, length);
        to[length] = 0;
    }
}

int parse_number_field(const struct message *message, const char *key, uint64_t *number, pellucid_error *error) {
    size_t length = 0;
    const char *value = find_field(message, key, &length);
    if (value == NULL || !parse_number(value, value + length, number))
        return protocol_error(error, "a message has no valid number in a field");
    return PELLUCID_OK;
}

/* The error that a message of kind "refused" describes. */
static int error_from_message(const struct message *message, pellucid_error *error) {
    char name[64], what[512], remedy[512];
    copy_field(message, "error", name, sizeof name);
    copy_field(message, "what", what, sizeof what);
    copy_field(message, "do", remedy, sizeof remedy);
    return fail(error, code_from_name(name), remedy, "%s", what[0] ? what : "The peer rejected the transfer.");
}

int read_message(struct channel *channel, struct message *message, int has_no_timeout, pellucid_error *error) {
    char prefix[12];
    uint32_t lengths[2];
    memset(message, 0, sizeof *message);
    TRY(transfer_all(channel, prefix, sizeof prefix, 0, has_no_timeout, error));
    memcpy(lengths, prefix + 4, sizeof lengths);
    if (memcmp(prefix, "PLT1", 4) != 0 || lengths[0] > MAX_HEADER_BYTES || lengths[1] > MAX_BODY_BYTES)
        return protocol_error(error, "it sent something that is not a message of this protocol");
    message->header = calloc(1, lengths[0] + 1);
    message->body = calloc(1, lengths[1] + 1);
    message->body_length = lengths[1];
    int code = message->header == NULL || message->body == NULL ? out_of_memory(error, lengths[0]) : PELLUCID_OK;
    code = code != PELLUCID_OK ? code : read_bytes(channel, message->header, lengths[0], error);
    code = code != PELLUCID_OK ? code : read_bytes(channel, message->body, lengths[1], error);
    if (code == PELLUCID_OK && is_kind(message, "refused"))
        code = error_from_message(message, error);
    if (code != PELLUCID_OK)
        message_free(message);
    return code;
}

int expect_message(struct channel *channel, const char *kind, const char *or_kind, struct message *message,
                   pellucid_error *error) {
    TRY(read_message(channel, message, 1, error));
    if (is_kind(message, kind) || (or_kind != NULL && is_kind(message, or_kind)))
        return PELLUCID_OK;
    message_free(message);
    return protocol_error(error, "it sent an unexpected message");
}

void send_error(struct channel *channel, const pellucid_error *error) {
    struct text header = {0};
    append(&header, "refused");
    append_field(&header, "error", name_from_code(error->code));
    append_field(&header, "what", error->what);
    append_field(&header, "do", error->remedy);
    send_message(channel, &header, "", 0, -1, NULL);
}

int failure_reason(struct channel *control, int code, pellucid_error *error) {
    struct message message;
    pellucid_error reply;
    if (code != PELLUCID_BROKEN || !has_data(control, 2000))
        return code;
    int read_code = read_message(control, &message, 0, &reply);
    if (read_code == PELLUCID_OK)
        message_free(&message);
    if (read_code == PELLUCID_OK || read_code == PELLUCID_BROKEN)
        return code;
    if (error != NULL)
        *error = reply;
    return read_code;
}
