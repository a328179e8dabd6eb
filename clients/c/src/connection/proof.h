/* Proofs over HTTP: without TLS a server proves that it issued a secret before it receives it.
 *
 * Every user of a machine can listen at a port whose process has ended. Such a server learns the hash of the secret. */
#ifndef PELLUCID_CONNECTION_PROOF_H
#define PELLUCID_CONNECTION_PROOF_H

#include "base/monitor.h"
#include "connection/address.h"
#include "connection/channel.h"
#include "internal.h"

/* What a request sends. The server knows a code by all but its last part, and other secrets by their hash. */
struct secret {
    const char *text;
    int is_code;
};

/* Connect to the web server at an address. Where address->needs_proof is set, it proves first that it issued the
 * secret. prefix: the start of every path there. */
INTERNAL int connect_proved(const struct address *address, const char *prefix, struct secret secret,
                            struct monitor *monitor, struct channel *channel, pellucid_error *error);

#endif
