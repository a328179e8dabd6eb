#include "array/announcement.h"
#include "array/array.h"
#include "array/lane.h"
#include "array/transfer.h"
#include "base/errors.h"
#include "base/text.h"
#include "connection/channel.h"
#include "connection/messages.h"

#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

int send_announcement(struct channel *control, const struct transfer *transfer, enum lane lane, pellucid_error *error) {
    const pellucid_array *array = &transfer->array;
    const char *metadata = array->metadata != NULL ? array->metadata : "{}";
    struct text header = {0};
    append(&header, "announce\ntransfer: %s\nlane: %s\ndtype: %s\nchecksum: %s\nmode: %s\nshape:", transfer->number,
           lane_name(lane), type_code(array->type), transfer->has_checksum ? "xxh3" : "none",
           transfer->is_stream ? "stream" : "whole");
    for (int i = 0; i < array->axes; i++)
        append(&header, " %" PRIu64, array->shape[i]);
    if (array->axes == 0)
        append(&header, " ");
    locale_t before = use_c_locale();
    append(&header, "\nspacing:%s", array->spacing[0] == 0 || array->axes == 0 ? " " : "");
    for (int i = 0; i < array->axes && array->spacing[0] != 0; i++)
        append(&header, " %.17g", array->spacing[i]);
    uselocale(before);
    append_field(&header, "name", array->name != NULL ? array->name : "");
    append_field(&header, "unit", array->unit != NULL ? array->unit : "");
    return send_message(control, &header, metadata, strlen(metadata), -1, error);
}

int is_same_array(const struct transfer *a, const struct transfer *b) {
    size_t axes = (size_t)a->array.axes;
    return strcmp(a->number, b->number) == 0 && a->array.type == b->array.type && a->array.axes == b->array.axes &&
           memcmp(a->array.shape, b->array.shape, axes * sizeof *a->array.shape) == 0 && a->is_stream == b->is_stream &&
           a->has_checksum == b->has_checksum;
}

static char *duplicate_field(const struct message *message, const char *key) {
    size_t length = 0;
    const char *value = find_field(message, key, &length);
    return value == NULL ? strdup("") : strndup(value, length);
}

static int parse_shape(const struct message *message, pellucid_array *array, pellucid_error *error) {
    size_t length = 0;
    const char *at = find_field(message, "shape", &length), *end = at == NULL ? NULL : at + length;
    if (at == NULL)
        return protocol_error(error, "it announced no valid shape");
    for (;;) {
        while (at < end && *at == ' ')
            at++;
        if (at == end)
            return PELLUCID_OK;
        const char *stop = at;
        while (stop < end && *stop != ' ')
            stop++;
        if (array->axes == PELLUCID_MAX_AXES || !parse_number(at, stop, &array->shape[array->axes]))
            return protocol_error(error, "it announced no valid shape");
        array->axes++;
        at = stop;
    }
}

int parse_announcement(const struct message *message, struct transfer *transfer, pellucid_error *error) {
    char wire[8], word[16], spacing[512];
    pellucid_array *array = &transfer->array;
    struct owned *owned = calloc(1, sizeof *owned);
    if (owned == NULL)
        return out_of_memory(error, sizeof *owned);
    array->owned = owned;
    array->name = owned->name = duplicate_field(message, "name");
    array->unit = owned->unit = duplicate_field(message, "unit");
    array->metadata = owned->metadata = strdup(message->body);
    if (owned->name == NULL || owned->unit == NULL || owned->metadata == NULL)
        return out_of_memory(error, message->body_length);
    TRY(parse_shape(message, array, error));
    copy_field(message, "dtype", wire, sizeof wire);
    int type = type_from_code(wire, strlen(wire));
    array->type = (pellucid_type)(type < 0 ? 0 : type);
    copy_field(message, "transfer", transfer->number, sizeof transfer->number);
    transfer->bytes = pellucid_bytes(array);
    if (type < 0 || strlen(transfer->number) != 32 || transfer->bytes == UINT64_MAX)
        return protocol_error(error, "it announced an invalid type, number or size");
    copy_field(message, "checksum", word, sizeof word);
    transfer->has_checksum = strcmp(word, "xxh3") == 0;
    copy_field(message, "mode", word, sizeof word);
    transfer->is_stream = strcmp(word, "stream") == 0;
    if (transfer->is_stream && array->axes != 3)
        return protocol_error(error, "it announced a stream that does not have three axes");
    copy_field(message, "spacing", spacing, sizeof spacing);
    char *at = spacing;
    locale_t before = use_c_locale();
    for (int i = 0; i < array->axes && *at; i++)
        array->spacing[i] = strtod(at, &at);
    uselocale(before);
    return PELLUCID_OK;
}
