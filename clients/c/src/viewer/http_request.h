/* HTTP requests to a viewer or an agent. */
#ifndef PELLUCID_VIEWER_HTTP_REQUEST_H
#define PELLUCID_VIEWER_HTTP_REQUEST_H

#include "base/monitor.h"
#include "base/text.h"
#include "connection/endpoint.h"
#include "internal.h"
#include "connection/http_response.h"

/* The error that a response describes. */
INTERNAL int error_from_response(const struct response *response, pellucid_error *error);
/* Send one request. limit: for the bytes of the response, which the caller frees on success. */
INTERNAL int http_request(const struct endpoint *endpoint, struct monitor *monitor, const char *method,
                          const char *path, const void *body, size_t length, uint64_t limit, struct response *response,
                          pellucid_error *error);
/* Send a request whose body is JSON, which is freed. response: may be NULL. */
INTERNAL int http_json(const struct endpoint *endpoint, struct monitor *monitor, const char *method, const char *path,
                       struct text *body, struct response *response, pellucid_error *error);

#endif
