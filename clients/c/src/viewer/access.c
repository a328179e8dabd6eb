#include "viewer/access.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/monitor.h"
#include "base/text.h"
#include "connection/endpoint.h"
#include "viewer/http_request.h"
#include "connection/http_response.h"

#include <stdlib.h>

int redeem_code(struct endpoint *endpoint, struct monitor *monitor, pellucid_error *error) {
    struct text body = {0}, page = {0};
    struct response response;
    if (endpoint->code == NULL)
        return PELLUCID_OK;
    append_url(&page, endpoint);
    append(&body, "{\"code\": ");
    append_json(&body, endpoint->code);
    append(&body, ", \"address\": ");
    append_json(&body, page.has_failed ? "" : page.at);
    append(&body, "}");
    free(page.at);
    TRY(http_json(endpoint, monitor, "POST", "/api/session", &body, &response, error));
    char *token = json_text(response.body, "token");
    free(response.body);
    if (token == NULL)
        return protocol_error(error, "the response of the viewer has no token");
    free(endpoint->bearer);
    free(endpoint->code);
    endpoint->bearer = token;
    endpoint->code = NULL;
    return PELLUCID_OK;
}
