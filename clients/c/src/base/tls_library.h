/* libssl 3, loaded when it is first needed. */
#ifndef PELLUCID_BASE_TLS_LIBRARY_H
#define PELLUCID_BASE_TLS_LIBRARY_H

#include "internal.h"

enum { SSL_WANTS_READ = 2, SSL_WANTS_WRITE = 3, SSL_IS_OVER = 6 };

struct tls_library {
    void *context;
    const void *(*method)(void);
    void *(*context_new)(const void *);
    long (*context_control)(void *, int, long, void *);
    int (*trust_system)(void *);
    void *(*connection_new)(void *);
    long (*control)(void *, int, long, void *);
    int (*set_fd)(void *, int);
    void (*set_verify)(void *, int, void *);
    int (*set_host)(void *, const char *);
    int (*connect)(void *);
    int (*read)(void *, void *, int);
    int (*write)(void *, const void *, int);
    int (*pending)(const void *);
    int (*get_error)(const void *, int);
    void (*free)(void *);
    void *(*peer)(const void *);
    int (*encode)(void *, unsigned char **);
    void (*free_certificate)(void *);
    void (*clear_errors)(void);
};

/* context is NULL where libssl is not installed. */
INTERNAL const struct tls_library *tls(void);

#endif
