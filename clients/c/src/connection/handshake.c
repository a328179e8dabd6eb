#include "connection/handshake.h"
#include "base/errors.h"
#include "base/secrets.h"
#include "base/sha256.h"
#include "base/text.h"
#include "connection/channel.h"
#include "connection/messages.h"

#include <stdio.h>
#include <string.h>

void make_proof(const char *token, const char *side, const char *theirs, const char *ours,
                char proof[HASH_TEXT_BYTES]) {
    char text[256];
    snprintf(text, sizeof text, "%s %.80s %.80s", side, theirs, ours);
    hmac_sha256_hex(token, text, proof);
}

int check_token(const char *token, pellucid_error *error) {
    if (token == NULL || strlen(token) < 8)
        return fail(error, PELLUCID_INVALID, "Pass the token of the receiver.",
                    "The token is shorter than 8 characters.");
    return PELLUCID_OK;
}

int authenticate(struct channel *channel, const char *token, const char *transfer, struct message *welcome,
                 pellucid_error *error) {
    char server_nonce[80], client_nonce[HASH_TEXT_BYTES], proof[HASH_TEXT_BYTES], shown[80], version[8];
    struct message greeting;
    TRY(expect_message(channel, "pellucid-transfer", NULL, &greeting, error));
    copy_field(&greeting, "nonce", server_nonce, sizeof server_nonce);
    copy_field(&greeting, "version", version, sizeof version);
    message_free(&greeting);
    if (strcmp(version, "1") != 0)
        return protocol_error(error, "it uses another version of the protocol");
    TRY(random_hex(32, client_nonce, error));
    make_proof(token, "connect", server_nonce, client_nonce, proof);
    struct text header = {0};
    append(&header, "open\nversion: 1\nnonce: %s\nproof: %s\nrole: %s", client_nonce, proof,
           transfer ? "stream" : "control");
    if (transfer != NULL)
        append_field(&header, "transfer", transfer);
    TRY(send_message(channel, &header, "", 0, -1, error));
    TRY(expect_message(channel, "welcome", NULL, welcome, error));
    make_proof(token, "listen", server_nonce, client_nonce, proof);
    copy_field(welcome, "proof", shown, sizeof shown);
    if (secrets_equal(shown, proof))
        return PELLUCID_OK;
    message_free(welcome);
    return token_rejected(error, "The receiver");
}
