/* Messages: a kind, lines of "key: value", and a body. */
#ifndef PELLUCID_CONNECTION_MESSAGES_H
#define PELLUCID_CONNECTION_MESSAGES_H

#include "base/text.h"
#include "connection/channel.h"
#include "internal.h"

enum { MAX_HEADER_BYTES = 64 * 1024, MAX_BODY_BYTES = 128 * 1024 };

struct message {
    char *header; /* the kind, then lines of "key: value" */
    char *body;
    uint32_t body_length;
};

INTERNAL void message_free(struct message *message);
/* Write a message, with a descriptor unless it is -1. Frees the header. */
INTERNAL int send_message(struct channel *channel, struct text *header, const void *body, size_t body_length,
                          int descriptor, pellucid_error *error);
INTERNAL int send_word(struct channel *channel, const char *word, pellucid_error *error);
INTERNAL int is_kind(const struct message *message, const char *kind);
/* The value of a field, which ends at a line break; NULL if it is missing. */
INTERNAL const char *find_field(const struct message *message, const char *key, size_t *length);
/* Copy a field into `capacity` bytes; an empty text if it is missing or too long. */
INTERNAL void copy_field(const struct message *message, const char *key, char *to, size_t capacity);
INTERNAL int parse_number_field(const struct message *message, const char *key, uint64_t *number,
                                pellucid_error *error);
/* Read the next message; "refused" is returned as the error that it describes. has_no_timeout: wait without limit. */
INTERNAL int read_message(struct channel *channel, struct message *message, int has_no_timeout, pellucid_error *error);
/* Read the next message, which must be of one of two kinds (the second may be NULL). */
INTERNAL int expect_message(struct channel *channel, const char *kind, const char *or_kind, struct message *message,
                            pellucid_error *error);
INTERNAL void send_error(struct channel *channel, const pellucid_error *error);
/* Why a transfer failed: the error that the peer sent before it closed, otherwise `code`. */
INTERNAL int failure_reason(struct channel *control, int code, pellucid_error *error);

#endif
