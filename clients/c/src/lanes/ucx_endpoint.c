#include "lanes/ucx_endpoint.h"
#include "base/errors.h"
#include "base/ucx_library.h"
#include "lanes/link.h"
#include "lanes/ucx_batch.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int has_rdma(void) {
    DIR *cards = opendir("/sys/class/infiniband");
    int count = 0;
    for (struct dirent *each; cards != NULL && (each = readdir(cards)) != NULL;)
        count += each->d_name[0] != '.';
    if (cards != NULL)
        closedir(cards);
    return count > 0;
}

int ucx_failed(pellucid_error *error, const char *what, int status) {
    return fail(error, PELLUCID_BROKEN, "Check the UCX_ variables (UCX_TLS, UCX_NET_DEVICES), or choose the lane tcp.",
                "UCX failed: %s (status %d).", what, status);
}

/* The network interface of a connection; empty if it is unknown. */
static void network_of(int fd, char *name, size_t capacity) {
    struct sockaddr_in here;
    socklen_t length = sizeof here;
    struct ifaddrs *all = NULL;
    name[0] = 0;
    if (getsockname(fd, (struct sockaddr *)&here, &length) != 0 || here.sin_family != AF_INET || getifaddrs(&all) != 0)
        return;
    for (struct ifaddrs *each = all; each != NULL; each = each->ifa_next)
        if (each->ifa_addr != NULL && each->ifa_addr->sa_family == AF_INET &&
            ((struct sockaddr_in *)(void *)each->ifa_addr)->sin_addr.s_addr == here.sin_addr.s_addr)
            snprintf(name, capacity, "%s", each->ifa_name);
    freeifaddrs(all);
}

/* Set a UCX option, unless the environment sets it. */
static void ucx_set(void *settings, const char *name, const char *value) {
    char variable[64];
    snprintf(variable, sizeof variable, "UCX_%s", name);
    if (value[0] && getenv(variable) == NULL)
        ucx()->change_setting(settings, name, value);
}

int ucx_open(struct link *link, pellucid_error *error) {
    struct ucx_parameters parameters = {.field_mask = 1, .first = {.features = UCX_FEATURE_TAG}}, none = {0};
    void *settings = NULL;
    char network[64];
    if (link->ucx.worker != NULL)
        return PELLUCID_OK;
    int status = ucx()->read_settings(NULL, NULL, &settings);
    if (status != 0)
        return ucx_failed(error, "its settings", status);
    /* The defaults for sockets suit small messages, and other networks may not reach the peer. */
    ucx_set(settings, "TLS", "^cma"); /* cma ends this process when the peer is killed */
    ucx_set(settings, "TCP_TX_SEG_SIZE", "256K");
    ucx_set(settings, "TCP_RX_SEG_SIZE", "256K");
    network_of(link->control.fd, network, sizeof network);
    if (!has_rdma())
        ucx_set(settings, "NET_DEVICES", network);
    status = ucx()->start(1, 9, &parameters, settings, &link->ucx.context);
    ucx()->release_settings(settings);
    status = status != 0 ? status : ucx()->worker_new(link->ucx.context, &none, &link->ucx.worker);
    return status == 0 ? PELLUCID_OK : ucx_failed(error, "starting", status);
}

void ucx_close(struct ucx_lane *lane) {
    if (lane->worker != NULL)
        ucx()->worker_end(lane->worker);
    if (lane->context != NULL)
        ucx()->end(lane->context);
    memset(lane, 0, sizeof *lane);
}
