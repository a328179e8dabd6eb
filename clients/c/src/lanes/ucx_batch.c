#include "lanes/ucx_batch.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/ucx_library.h"
#include "lanes/ucx_endpoint.h"

#include <sched.h>

/* 1: done, 0: not yet, negative: failed. A NULL request was done at once; small negative values are errors. */
static int ucx_request_state(void *request) {
    intptr_t value = (intptr_t)request;
    if (value <= 0 && value > -100)
        return value == 0 ? 1 : (int)value;
    int status = ucx()->status(request);
    return status == UCX_IN_PROGRESS ? 0 : status == 0 ? 1 : status;
}

static void ucx_release(void *request) {
    intptr_t value = (intptr_t)request;
    if (value > 0 || value <= -100)
        ucx()->free(request);
}

/* Cancel the requests in flight: nothing may be written to our memory afterwards. */
static void ucx_cancel(struct ucx_batch *batch) {
    double since = now_s();
    for (; batch->completed < batch->posted; batch->completed++) {
        void *request = batch->requests[batch->completed % MAX_IN_FLIGHT];
        if (ucx_request_state(request) == 0)
            ucx()->cancel(batch->link->ucx.worker, request);
        while (ucx_request_state(request) == 0 && now_s() - since < 1)
            ucx()->progress(batch->link->ucx.worker);
        if (ucx_request_state(request) != 0)
            ucx_release(request);
    }
}

/* Post requests up to the limit, and handle completed ones. */
static int ucx_step(struct ucx_batch *batch, double *since, pellucid_error *error) {
    while (batch->posted < batch->count && batch->posted - batch->completed < MAX_IN_FLIGHT) {
        void **request = &batch->requests[batch->posted % MAX_IN_FLIGHT];
        *request = NULL;
        TRY(batch->post(batch, batch->numbers[batch->posted], request, error));
        batch->posted++;
    }
    if (ucx()->progress(batch->link->ucx.worker) == 0)
        sched_yield();
    while (batch->completed < batch->posted) {
        void *request = batch->requests[batch->completed % MAX_IN_FLIGHT];
        int state = ucx_request_state(request);
        if (state == 0)
            break;
        ucx_release(request);
        uint32_t number = batch->numbers[batch->completed++];
        if (state < 0)
            return ucx_failed(error, "a piece", state);
        TRY(batch->on_complete(batch, number, error));
        *since = now_s();
    }
    return PELLUCID_OK;
}

int ucx_run(struct ucx_batch *batch, pellucid_error *error) {
    double since = now_s();
    int code = PELLUCID_OK;
    for (unsigned steps = 1; code == PELLUCID_OK && batch->completed < batch->count; steps++) {
        code = ucx_step(batch, &since, error);
        if (code == PELLUCID_OK && steps % STEPS_PER_CHECK == 0) {
            code = batch->check(batch, error);
            if (code == PELLUCID_OK && now_s() - since > batch->link->monitor.timeout_s)
                code = transfer_interrupted(error, "no message from the peer before the timeout");
        }
    }
    ucx_cancel(batch);
    return code;
}
