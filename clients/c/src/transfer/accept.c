#include "transfer/accept.h"
#include "array/transfer.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "base/secrets.h"
#include "base/sha256.h"
#include "base/text.h"
#include "connection/channel.h"
#include "connection/handshake.h"
#include "connection/messages.h"
#include "lanes/link.h"
#include "lanes/ucx_endpoint.h"
#include "transfer/listener.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { MAX_OPENING_BYTES = 4096 };

/* The listener's part of the handshake, when the message of the candidate is complete. transfer: which one a stream
 * belongs to; empty for a control connection. */
static int authenticate_candidate(pellucid_listener *listener, struct candidate *candidate,
                                  char transfer[TRANSFER_ID_BYTES], pellucid_error *error) {
    char client_nonce[80], shown[80], proof[HASH_TEXT_BYTES], role[16];
    struct channel *channel = &candidate->channel;
    struct message opening;
    struct text header = {0};
    TRY(read_message(channel, &opening, 0, error));
    copy_field(&opening, "nonce", client_nonce, sizeof client_nonce);
    copy_field(&opening, "proof", shown, sizeof shown);
    copy_field(&opening, "role", role, sizeof role);
    copy_field(&opening, "transfer", transfer, TRANSFER_ID_BYTES);
    message_free(&opening);
    make_proof(listener->token, "connect", candidate->nonce, client_nonce, proof);
    if (!secrets_equal(shown, proof)) {
        int code = token_rejected(error, "The receiver");
        send_error(channel, error);
        return code;
    }
    make_proof(listener->token, "listen", candidate->nonce, client_nonce, proof);
    append(&header, "welcome\nproof: %s\nlanes: shm tcp%s\nmachine: %s\nlocal: %s%s", proof,
           listener->has_ucx ? " ucx" : "", listener->machine, listener->local, has_rdma() ? "\nrdma: yes" : "");
    if (strcmp(role, "stream") != 0)
        transfer[0] = 0;
    return send_message(channel, &header, "", 0, -1, error);
}

/* Send the greeting to a new connection. If there are too many candidates, drop one. */
static void add_candidate(pellucid_listener *listener, int fd) {
    struct text header = {0};
    if (listener->candidate_count == MAX_CANDIDATES)
        drop_candidate(listener, 0);
    struct candidate *candidate = &listener->candidates[listener->candidate_count++];
    channel_start(&candidate->channel, fd, &listener->monitor);
    candidate->channel.deadline = now_s() + HANDSHAKE_TIMEOUT_S;
    int code = random_hex(32, candidate->nonce, NULL);
    append(&header, "pellucid-transfer\nversion: 1\nnonce: %s", code == PELLUCID_OK ? candidate->nonce : "");
    if (code != PELLUCID_OK)
        free(header.at);
    else
        code = send_message(&candidate->channel, &header, "", 0, -1, NULL);
    if (code != PELLUCID_OK)
        drop_candidate(listener, listener->candidate_count - 1);
}

/* Whether the message of a candidate is complete (1), incomplete (0) or invalid (-1). It is only peeked at, so that a
 * candidate that sends a byte now and then delays no other. */
static int opening_state(const struct candidate *candidate) {
    char peek[12 + MAX_OPENING_BYTES];
    uint32_t lengths[2];
    ssize_t got = recv(candidate->channel.fd, peek, sizeof peek, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got < 12)
        return got <= 0 ? -1 : 0;
    memcpy(lengths, peek + 4, sizeof lengths);
    if (memcmp(peek, "PLT1", 4) != 0 || lengths[0] > MAX_OPENING_BYTES || lengths[1] > MAX_OPENING_BYTES - lengths[0])
        return -1;
    return (size_t)got >= 12 + (size_t)lengths[0] + lengths[1];
}

/* Check the candidates. PELLUCID_OK if one proved that it holds the token. */
static int admit_candidates(pellucid_listener *listener, struct channel *channel, char transfer[TRANSFER_ID_BYTES]) {
    for (int i = listener->candidate_count - 1; i >= 0; i--) {
        struct candidate *candidate = &listener->candidates[i];
        int state = opening_state(candidate);
        if (state == 0 && now_s() < candidate->channel.deadline)
            continue;
        if (state == 1 && authenticate_candidate(listener, candidate, transfer, &(pellucid_error){0}) == PELLUCID_OK) {
            *channel = candidate->channel;
            channel->deadline = 0;
            *candidate = listener->candidates[--listener->candidate_count];
            return PELLUCID_OK;
        }
        drop_candidate(listener, i);
    }
    return PELLUCID_TIMEOUT;
}

/* Accept one connection that proves that it holds the token; PELLUCID_TIMEOUT if none does within POLL_MS. */
static int accept_one(pellucid_listener *listener, struct channel *channel, char transfer[TRANSFER_ID_BYTES],
                      pellucid_error *error) {
    struct pollfd waiting[2 + MAX_CANDIDATES] = {{listener->sockets[0], POLLIN, 0}, {listener->sockets[1], POLLIN, 0}};
    for (int i = 0; i < listener->candidate_count; i++)
        waiting[2 + i] = (struct pollfd){listener->candidates[i].channel.fd, POLLIN, 0};
    int has_any = poll(waiting, (nfds_t)(2 + listener->candidate_count), POLL_MS) > 0;
    for (int i = 0; has_any && i < 2; i++) {
        int fd = waiting[i].revents & POLLIN ? accept4(waiting[i].fd, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd >= 0)
            add_candidate(listener, fd);
    }
    if (admit_candidates(listener, channel, transfer) == PELLUCID_OK)
        return PELLUCID_OK;
    if (has_any && !(waiting[0].revents | waiting[1].revents))
        sleep_s(0.002); /* the message is not complete yet */
    TRY(report_progress(&listener->monitor, 0, error));
    return fail(error, PELLUCID_TIMEOUT, "Check that the sender is running, or use a longer timeout.",
                "No array arrived before the timeout.");
}

/* A control connection that arrives during another transfer waits for its turn. */
static void queue_control(pellucid_listener *listener, struct channel *channel) {
    if (listener->waiting_count < MAX_WAITING)
        listener->waiting[listener->waiting_count++] = *channel;
    else
        channel_close(channel);
}

int accept_stream(struct link *link, const char *transfer, struct channel *channel, pellucid_error *error) {
    double since = now_s();
    while (now_s() - since < link->monitor.timeout_s) {
        char joined[TRANSFER_ID_BYTES];
        if (has_data(&link->control, 0))
            return transfer_interrupted(error, "the sender disconnected before it sent anything");
        int code = accept_one(link->listener, channel, joined, error);
        if (code == PELLUCID_TIMEOUT)
            continue;
        TRY(code);
        if (strcmp(joined, transfer) == 0) {
            channel->monitor = &link->monitor;
            return PELLUCID_OK;
        }
        if (joined[0] == 0)
            queue_control(link->listener, channel);
        else
            channel_close(channel);
    }
    return transfer_interrupted(error, "the sender opened no connection for its pieces");
}

int next_control(pellucid_listener *listener, double until, struct channel *channel, pellucid_error *error) {
    char transfer[TRANSFER_ID_BYTES];
    if (listener->waiting_count > 0) {
        *channel = listener->waiting[0];
        memmove(listener->waiting, listener->waiting + 1, sizeof *channel * (size_t)--listener->waiting_count);
        return PELLUCID_OK;
    }
    for (;;) {
        int code = accept_one(listener, channel, transfer, error);
        if (code == PELLUCID_OK && transfer[0] == 0)
            return PELLUCID_OK;
        if (code == PELLUCID_OK)
            channel_close(channel); /* a stream of a transfer that has ended */
        else if (code != PELLUCID_TIMEOUT || (until >= 0 && now_s() > until))
            return code;
    }
}
