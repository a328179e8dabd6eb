#include "viewer/display.h"
#include "array/array.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/text.h"

#include <stdlib.h>

pellucid_array as_displayed(const pellucid_array *volume) {
    pellucid_array shown = *volume;
    shown.type = shown.type == PELLUCID_BOOL ? PELLUCID_UINT8 : shown.type;
    return shown;
}

const char *how_or_default(const char *how) { return how != NULL ? how : "replace"; }

char *display_metadata(const char *metadata, const char *how, const char *kind, pellucid_error *error) {
    struct text text = {0};
    const char *rest = json_skip_space(metadata != NULL ? metadata : "{}"), *end = json_end(rest);
    if (*rest != '{' || end == NULL || *json_skip_space(end) != 0) {
        fail(error, PELLUCID_INVALID, "Pass a JSON object, for example {}.", "The metadata is not a JSON object.");
        return NULL;
    }
    rest = json_skip_space(rest + 1);
    append(&text, "{\"pellucid\": {\"kind\": \"%s\", \"how\": ", kind);
    append_json(&text, how_or_default(how));
    append(&text, "}%s %s", *rest == '}' ? "" : ",", rest);
    if (text.has_failed) {
        free(text.at);
        out_of_memory(error, text.length);
        return NULL;
    }
    return text.at;
}

int check_volume(const pellucid_array *volume, int needs_data, pellucid_error *error) {
    TRY(check_array(volume, needs_data, error));
    if (volume->axes != 3)
        return fail(error, PELLUCID_INVALID, "Pass a volume with the axes z, y, x.", "A volume has three axes, not %d.",
                    volume->axes);
    return PELLUCID_OK;
}
