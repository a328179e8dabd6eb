#include "connection/tls.h"
#include "base/clock.h"
#include "base/monitor.h"
#include "base/secrets.h"
#include "base/sha256.h"
#include "base/tls_library.h"
#include "connection/address.h"
#include "connection/channel.h"
#include "connection/connect.h"
#include "connection/socket_io.h"

#include <stdlib.h>

/* The SHA-256 of the peer's certificate, in hexadecimal; empty if it has none. */
static void peer_certificate_hash(void *ssl, char shown[HASH_TEXT_BYTES]) {
    void *certificate = tls()->peer(ssl);
    int length = certificate == NULL ? 0 : tls()->encode(certificate, NULL);
    unsigned char *space = length > 0 ? malloc((size_t)length) : NULL, *end = space;
    shown[0] = 0;
    if (space != NULL && tls()->encode(certificate, &end) == length)
        sha256_hex(space, (size_t)length, shown);
    free(space);
    if (certificate != NULL)
        tls()->free_certificate(certificate);
}

static int tls_handshake(struct channel *channel) {
    double since = now_s();
    for (;;) {
        struct sigpipe sigpipe;
        block_sigpipe(&sigpipe);
        tls()->clear_errors();
        int result = tls()->connect(channel->ssl), why = result == 1 ? 0 : tls()->get_error(channel->ssl, result);
        restore_sigpipe(&sigpipe);
        if (result == 1)
            return 1;
        if ((why != SSL_WANTS_READ && why != SSL_WANTS_WRITE) || now_s() - since > CONNECT_TIMEOUT_S ||
            report_progress(channel->monitor, 0, NULL) != PELLUCID_OK)
            return 0;
    }
}

int start_tls(struct channel *channel, const struct address *address, pellucid_error *error) {
    enum { SET_SERVER_NAME = 55, VERIFY_PEER = 1 };
    char shown[HASH_TEXT_BYTES];
    if (tls()->context == NULL)
        return unreachable(error, address, "the address needs TLS, and libssl 3 is not installed");
    channel->ssl = tls()->connection_new(tls()->context);
    if (channel->ssl == NULL || tls()->set_fd(channel->ssl, channel->fd) != 1)
        return unreachable(error, address, "TLS could not be started");
    if (address->pin[0] == 0) {
        tls()->set_verify(channel->ssl, VERIFY_PEER, NULL);
        if (tls()->set_host(channel->ssl, address->host) != 1)
            return unreachable(error, address, "its host name is not valid in a certificate");
        tls()->control(channel->ssl, SET_SERVER_NAME, 0, (void *)(uintptr_t)address->host);
    }
    if (!tls_handshake(channel))
        return unreachable(error, address,
                           address->pin[0] ? "TLS failed" : "TLS failed, or its certificate is not trusted");
    if (address->pin[0] == 0)
        return PELLUCID_OK;
    peer_certificate_hash(channel->ssl, shown);
    if (!secrets_equal(shown, address->pin))
        return unreachable(error, address, "the server shows another certificate than the pinned one");
    return PELLUCID_OK;
}
