#include "array/array.h"
#include "base/errors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_NAME_BYTES = 1024 };

static const struct {
    const char *wire, *name;
    unsigned bytes;
} TYPES[] = {{"|b1", "bool", 1},      {"|i1", "int8", 1},        {"<i2", "int16", 2},   {"<i4", "int32", 4},
             {"<i8", "int64", 8},     {"|u1", "uint8", 1},       {"<u2", "uint16", 2},  {"<u4", "uint32", 4},
             {"<u8", "uint64", 8},    {"<f2", "float16", 2},     {"<f4", "float32", 4}, {"<f8", "float64", 8},
             {"<c8", "complex64", 8}, {"<c16", "complex128", 16}};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

const char *pellucid_type_name(pellucid_type type) {
    return (unsigned)type < TYPE_COUNT ? TYPES[type].name : "unknown";
}

const char *type_code(pellucid_type type) { return TYPES[type].wire; }

unsigned type_bytes(pellucid_type type) { return TYPES[type].bytes; }

static int is_type(pellucid_type type) { return (unsigned)type < TYPE_COUNT; }

int type_from_code(const char *code, size_t length) {
    int type = TYPE_COUNT - 1;
    while (type >= 0 && (strlen(TYPES[type].wire) != length || strncmp(TYPES[type].wire, code, length) != 0))
        type--;
    return type;
}

uint64_t pellucid_bytes(const pellucid_array *array) {
    uint64_t bytes = (unsigned)array->type < TYPE_COUNT ? TYPES[array->type].bytes : 0;
    for (int i = 0; i < array->axes && i < PELLUCID_MAX_AXES; i++)
        if (__builtin_mul_overflow(bytes, array->shape[i], &bytes))
            return UINT64_MAX;
    return bytes;
}

void pellucid_free(pellucid_array *array) {
    struct owned *owned = array == NULL ? NULL : array->owned;
    if (owned == NULL)
        return;
    if (array->data != NULL)
        munmap(array->data, owned->mapped);
    free(owned->unit);
    free(owned->name);
    free(owned->metadata);
    free(owned);
    memset(array, 0, sizeof *array);
}

int copy_texts(pellucid_array *array, pellucid_error *error) {
    struct owned *owned = calloc(1, sizeof *owned);
    array->data = NULL;
    array->owned = owned;
    if (owned == NULL)
        return out_of_memory(error, sizeof *owned);
    array->name = owned->name = strdup(array->name != NULL ? array->name : "");
    array->unit = owned->unit = strdup(array->unit != NULL ? array->unit : "");
    array->metadata = owned->metadata = strdup(array->metadata != NULL ? array->metadata : "{}");
    return owned->name != NULL && owned->unit != NULL && owned->metadata != NULL ? PELLUCID_OK
                                                                                 : out_of_memory(error, 0);
}

int check_array(const pellucid_array *array, int needs_data, pellucid_error *error) {
    uint64_t bytes = pellucid_bytes(array);
    if (array->axes < 0 || array->axes > PELLUCID_MAX_AXES || !is_type(array->type))
        return fail(error, PELLUCID_INVALID, "Use 0 to 8 axes and a pellucid_type.", "Invalid array: %d axes, type %d.",
                    array->axes, (int)array->type);
    if (bytes == UINT64_MAX || (needs_data && bytes > 0 && array->data == NULL))
        return fail(error, PELLUCID_INVALID, "Set data and shape.",
                    "The array has no data, or its size overflows 64 bits.");
    if (array->metadata != NULL && strlen(array->metadata) > PELLUCID_MAX_METADATA_BYTES)
        return fail(error, PELLUCID_INVALID, "Send large tables as arrays.",
                    "The metadata has %zu bytes; at most %d are allowed.", strlen(array->metadata),
                    PELLUCID_MAX_METADATA_BYTES);
    if ((array->name != NULL && strlen(array->name) > MAX_NAME_BYTES) ||
        (array->unit != NULL && strlen(array->unit) > MAX_NAME_BYTES))
        return fail(error, PELLUCID_INVALID, "Use at most 1024 bytes for each.",
                    "The name or the unit is longer than 1024 bytes.");
    for (int i = 0; i < array->axes && array->spacing[0] != 0; i++)
        if (!isfinite(array->spacing[i]) || array->spacing[i] <= 0)
            return fail(error, PELLUCID_INVALID, "Use a number above 0 for each axis, or 0 for the first axis.",
                        "Invalid spacing along axis %d.", i);
    return PELLUCID_OK;
}
