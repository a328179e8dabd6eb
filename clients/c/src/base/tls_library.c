#include "base/tls_library.h"
#include "base/library.h"

#include <dlfcn.h>
#include <pthread.h>

static struct tls_library loaded_tls;
static pthread_once_t tls_once = PTHREAD_ONCE_INIT;

static void load_tls(void) {
    enum { CONTROL_MODE = 33, PARTIAL_WRITES = 1, MOVING_BUFFER = 2 };
    void *ssl = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    ssl = ssl != NULL ? ssl : dlopen("libssl.so", RTLD_NOW | RTLD_LOCAL);
    int has_all = ssl != NULL;
    LOAD_FUNCTION(loaded_tls.method, ssl, "TLS_client_method");
    LOAD_FUNCTION(loaded_tls.context_new, ssl, "SSL_CTX_new");
    LOAD_FUNCTION(loaded_tls.context_control, ssl, "SSL_CTX_ctrl");
    LOAD_FUNCTION(loaded_tls.trust_system, ssl, "SSL_CTX_set_default_verify_paths");
    LOAD_FUNCTION(loaded_tls.connection_new, ssl, "SSL_new");
    LOAD_FUNCTION(loaded_tls.control, ssl, "SSL_ctrl");
    LOAD_FUNCTION(loaded_tls.set_fd, ssl, "SSL_set_fd");
    LOAD_FUNCTION(loaded_tls.set_verify, ssl, "SSL_set_verify");
    LOAD_FUNCTION(loaded_tls.set_host, ssl, "SSL_set1_host");
    LOAD_FUNCTION(loaded_tls.connect, ssl, "SSL_connect");
    LOAD_FUNCTION(loaded_tls.read, ssl, "SSL_read");
    LOAD_FUNCTION(loaded_tls.write, ssl, "SSL_write");
    LOAD_FUNCTION(loaded_tls.pending, ssl, "SSL_pending");
    LOAD_FUNCTION(loaded_tls.get_error, ssl, "SSL_get_error");
    LOAD_FUNCTION(loaded_tls.free, ssl, "SSL_free");
    LOAD_FUNCTION(loaded_tls.peer, ssl, "SSL_get1_peer_certificate");
    LOAD_FUNCTION(loaded_tls.encode, ssl, "i2d_X509");
    LOAD_FUNCTION(loaded_tls.free_certificate, ssl, "X509_free");
    LOAD_FUNCTION(loaded_tls.clear_errors, ssl, "ERR_clear_error");
    loaded_tls.context = has_all ? loaded_tls.context_new(loaded_tls.method()) : NULL;
    if (loaded_tls.context == NULL)
        return;
    loaded_tls.context_control(loaded_tls.context, CONTROL_MODE, PARTIAL_WRITES | MOVING_BUFFER, NULL);
    loaded_tls.trust_system(loaded_tls.context);
}

const struct tls_library *tls(void) {
    pthread_once(&tls_once, load_tls);
    return &loaded_tls;
}
