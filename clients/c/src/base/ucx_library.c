#include "base/ucx_library.h"
#include "base/library.h"

#include <dlfcn.h>
#include <pthread.h>

static struct ucx_library loaded_ucx;
static pthread_once_t ucx_once = PTHREAD_ONCE_INIT;

static void load_ucx(void) {
    void *ucp = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    int has_all = ucp != NULL;
    LOAD_FUNCTION(loaded_ucx.read_settings, ucp, "ucp_config_read");
    LOAD_FUNCTION(loaded_ucx.change_setting, ucp, "ucp_config_modify");
    LOAD_FUNCTION(loaded_ucx.release_settings, ucp, "ucp_config_release");
    LOAD_FUNCTION(loaded_ucx.start, ucp, "ucp_init_version");
    LOAD_FUNCTION(loaded_ucx.end, ucp, "ucp_cleanup");
    LOAD_FUNCTION(loaded_ucx.worker_new, ucp, "ucp_worker_create");
    LOAD_FUNCTION(loaded_ucx.worker_end, ucp, "ucp_worker_destroy");
    LOAD_FUNCTION(loaded_ucx.address_of, ucp, "ucp_worker_get_address");
    LOAD_FUNCTION(loaded_ucx.release_address, ucp, "ucp_worker_release_address");
    LOAD_FUNCTION(loaded_ucx.progress, ucp, "ucp_worker_progress");
    LOAD_FUNCTION(loaded_ucx.endpoint_new, ucp, "ucp_ep_create");
    LOAD_FUNCTION(loaded_ucx.endpoint_close, ucp, "ucp_ep_close_nbx");
    LOAD_FUNCTION(loaded_ucx.flush, ucp, "ucp_ep_flush_nbx");
    LOAD_FUNCTION(loaded_ucx.send, ucp, "ucp_tag_send_nbx");
    LOAD_FUNCTION(loaded_ucx.receive, ucp, "ucp_tag_recv_nbx");
    LOAD_FUNCTION(loaded_ucx.status, ucp, "ucp_request_check_status");
    LOAD_FUNCTION(loaded_ucx.cancel, ucp, "ucp_request_cancel");
    LOAD_FUNCTION(loaded_ucx.free, ucp, "ucp_request_free");
    loaded_ucx.is_loaded = has_all;
}

const struct ucx_library *ucx(void) {
    pthread_once(&ucx_once, load_ucx);
    return &loaded_ucx;
}

int has_ucx_library(void) { return ucx()->is_loaded; }
