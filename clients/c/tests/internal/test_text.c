/* Addresses, links and JSON. */
#include "base/json.h"
#include "check.h"
#include "connection/endpoint.h"
#include "viewer/display.h"

#include <stdlib.h>
#include <string.h>

void test_addresses(void) {
    struct address address;
    pellucid_error error;
    CHECK(parse_address("node7:5100", &address, &error) == PELLUCID_OK && strcmp(address.host, "node7") == 0);
    CHECK(parse_address("[::1]:80", &address, &error) == PELLUCID_OK && strcmp(address.host, "::1") == 0);
    CHECK(parse_address(":80", &address, &error) == PELLUCID_OK && strcmp(address.host, "127.0.0.1") == 0);
    const char *wrong[] = {"node7", "node7:", "node7:70000", "tls://node7:80", "node7:80#12", NULL};
    for (int i = 0; i < 6; i++)
        CHECK(parse_address(wrong[i], &address, &error) == PELLUCID_INVALID);
}

static int text_is(const char *json, const char *key, const char *expected) {
    char *text = json_text(json, key);
    int is_right = expected == NULL ? text == NULL : text != NULL && strcmp(text, expected) == 0;
    free(text);
    return is_right;
}

void test_json(void) {
    const char *json =
        " {\"kind\": \"what\", \"in\": {\"what\": [1, \"}\"], \"deep\": {}}, \"n\" : -1.5e3, \"what\": \"a\\\"b\"}";
    CHECK(text_is(json, "kind", "what") && text_is(json, "what", "a\"b") && text_is(json, "deep", NULL));
    CHECK(text_is(json, "n", NULL) && strncmp(json_find(json, "n"), "-1.5e3", 6) == 0);
    CHECK(text_is("{\"a\": \"\\u00e4\\ud83d\\ude00\\n\\/\\u0041\"}", "a", "\xc3\xa4\xf0\x9f\x98\x80\n/A"));
    const char *damaged[] = {"",
                             "{",
                             "[]",
                             "{\"a\"",
                             "{\"a\":",
                             "{\"a\": \"",
                             "{\"a\": \"\\",
                             "{\"b\": [[[, \"a\": \"x\"}",
                             "{\"b\" \"a\": \"x\"}",
                             "{\"b\": }}}, \"a\": \"x\"}",
                             "{\"a\": 7}"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        CHECK(text_is(damaged[i], "a", NULL));
    CHECK(text_is(NULL, "a", NULL) && text_is("{\"a\": \"\\u12\"}", "a", "u12") &&
          text_is("{\"a\": \"\\ud800\\u\"}", "a", "\xed\xa0\x80u"));
    struct text text = {0};
    append_json(&text, "a\"\\\n\x1f\xc3\xa4");
    CHECK(strcmp(text.at, "\"a\\\"\\\\\\u000a\\u001f\xc3\xa4\"") == 0);
    free(text.at);
    char *prepared = display_metadata(" { } ", NULL, "volume", NULL);
    CHECK(strcmp(prepared, "{\"pellucid\": {\"kind\": \"volume\", \"how\": \"replace\"} } ") == 0);
    free(prepared);
    CHECK(display_metadata("[1]", NULL, "volume", NULL) == NULL &&
          display_metadata("{} x", NULL, "volume", NULL) == NULL);
}

static int url_is(const char *url, const char *host, const char *port, const char *prefix, const char *token,
                  int is_secure) {
    struct endpoint endpoint = {0};
    int is_right = parse_link(url, NULL, &endpoint, NULL) == PELLUCID_OK && strcmp(endpoint.address.host, host) == 0 &&
                   strcmp(endpoint.address.port, port) == 0 && strcmp(endpoint.prefix, prefix) == 0 &&
                   strcmp(endpoint.code != NULL ? endpoint.code : endpoint.bearer, token) == 0 &&
                   endpoint.address.is_secure == is_secure;
    endpoint_free(&endpoint);
    return is_right;
}

void test_links(void) {
    CHECK(url_is("http://127.0.0.1:80/#code=abc", "127.0.0.1", "80", "", "abc", 0));
    CHECK(url_is("https://node7/a/b/?x=1#y=2&share=abc&state=f", "node7", "443", "/a/b", "abc", 1));
    CHECK(url_is("http://[::1]:5000#share=abc", "::1", "5000", "", "abc", 0));
    CHECK(url_is("https://[::1]/#code=abc", "::1", "443", "", "abc", 1));
    const char *wrong[] = {NULL,
                           "",
                           "ftp://a/#code=b",
                           "http://",
                           "http:///#code=b",
                           "http://a/",
                           "http://a/#code=",
                           "http://a/?token=b",
                           "http://a/#code=b\r\nX: 1",
                           "http://a:b/#code=c"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!url_is(wrong[i], "a", "80", "", "b", 0));
    struct endpoint endpoint = {0};
    const char *pinned = "https://a:1/#share=b&pin=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    CHECK(parse_link(pinned, NULL, &endpoint, NULL) == PELLUCID_OK && strlen(endpoint.address.pin) == 64);
    endpoint_free(&endpoint);
}
