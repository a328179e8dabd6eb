/* The handshake: both ends prove that they hold the token, and neither sends it. */
#ifndef PELLUCID_CONNECTION_HANDSHAKE_H
#define PELLUCID_CONNECTION_HANDSHAKE_H

#include "base/sha256.h"
#include "connection/channel.h"
#include "connection/messages.h"
#include "internal.h"

INTERNAL void make_proof(const char *token, const char *side, const char *theirs, const char *ours,
                         char proof[HASH_TEXT_BYTES]);
INTERNAL int check_token(const char *token, pellucid_error *error);
/* The client's part of the handshake. transfer: NULL for a control connection. */
INTERNAL int authenticate(struct channel *channel, const char *token, const char *transfer, struct message *welcome,
                          pellucid_error *error);

#endif
