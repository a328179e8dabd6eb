/* libucp (UCX), loaded when it is first needed. */
#ifndef PELLUCID_BASE_UCX_LIBRARY_H
#define PELLUCID_BASE_UCX_LIBRARY_H

#include "internal.h"

/* Only the first fields of the UCX parameters are used, selected by the mask; the rest is for later versions. */
struct ucx_parameters {
    uint64_t field_mask;
    union {
        uint64_t features;
        const void *address;
    } first;
    uint64_t capacity[62];
};

struct ucx_library {
    int is_loaded;
    int (*read_settings)(const char *, const char *, void **);
    int (*change_setting)(void *, const char *, const char *);
    void (*release_settings)(void *);
    int (*start)(unsigned, unsigned, const struct ucx_parameters *, const void *, void **);
    void (*end)(void *);
    int (*worker_new)(void *, const struct ucx_parameters *, void **);
    void (*worker_end)(void *);
    int (*address_of)(void *, void **, size_t *);
    void (*release_address)(void *, void *);
    unsigned (*progress)(void *);
    int (*endpoint_new)(void *, const struct ucx_parameters *, void **);
    void *(*endpoint_close)(void *, const struct ucx_parameters *);
    void *(*flush)(void *, const struct ucx_parameters *);
    void *(*send)(void *, const void *, size_t, uint64_t, const struct ucx_parameters *);
    void *(*receive)(void *, void *, size_t, uint64_t, uint64_t, const struct ucx_parameters *);
    int (*status)(void *);
    void (*cancel)(void *, void *);
    void (*free)(void *);
};

INTERNAL const struct ucx_library *ucx(void);
INTERNAL int has_ucx_library(void);

#endif
