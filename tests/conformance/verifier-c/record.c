/* Records: MessagePack, read without trust in any length that the bytes say. */
#include <string.h>

#include "verifier.h"

enum { FIELDS = 14, DEEPEST = 512 };

typedef struct {
    const uint8_t *at, *end;
} Cursor;

typedef enum { NIL, BOOLEAN, INTEGER, FLOAT, TEXT, BINARY, ARRAY, MAP, EXTENSION, BROKEN } Type;

typedef struct {
    Type type;
    Integer integer;
    Bytes bytes;     /* of a text, of bytes and of an extension */
    uint64_t count;  /* of an array's elements, of a map's pairs */
} Value;

Integer integer_of(int64_t value) { return (Integer){value < 0, (uint64_t)value}; }

int integer_compare(Integer a, Integer b) {
    if (a.negative != b.negative) return a.negative ? -1 : 1;
    return a.value < b.value ? -1 : a.value > b.value;
}

static bool take(Cursor *cursor, uint64_t size, Bytes *bytes) {
    if ((uint64_t)(cursor->end - cursor->at) < size) return false;
    *bytes = (Bytes){cursor->at, (size_t)size};
    cursor->at += size;
    return true;
}

static bool number(Cursor *cursor, int size, uint64_t *value) {
    Bytes bytes;
    if (!take(cursor, (uint64_t)size, &bytes)) return false;
    *value = 0;
    for (int i = 0; i < size; i++) *value = *value << 8 | bytes.data[i];
    return true;
}

static Value broken(void) { return (Value){.type = BROKEN}; }

static Value integer(uint64_t value, bool negative) {
    return (Value){.type = INTEGER, .integer = {negative, value}};
}

static Value sized(Cursor *cursor, Type type, uint64_t size) {
    Value value = {.type = type};
    return take(cursor, size, &value.bytes) ? value : broken();
}

/* A length of 1, 2 or 4 bytes (width 0, 1, 2), and as many bytes; an extension has its type between. */
static Value counted(Cursor *cursor, Type type, int width) {
    uint64_t size;
    if (!number(cursor, 1 << width, &size)) return broken();
    return sized(cursor, type, type == EXTENSION ? size + 1 : size);
}

static Value collection(Cursor *cursor, Type type, int size) {
    Value value = {.type = type};
    return number(cursor, size, &value.count) ? value : broken();
}

static Value wide_integer(Cursor *cursor, int width, bool with_sign) {
    uint64_t bits;
    int size = 1 << width;
    if (!number(cursor, size, &bits)) return broken();
    bool negative = with_sign && (bits >> (8 * size - 1)) != 0;
    if (negative && size < 8) bits |= ~UINT64_C(0) << (8 * size);
    return integer(bits, negative);
}

static Value tagged(Cursor *cursor, uint8_t tag) {
    switch (tag) {
        case 0xc0: return (Value){.type = NIL};
        case 0xc2: case 0xc3: return (Value){.type = BOOLEAN};
        case 0xc4: case 0xc5: case 0xc6: return counted(cursor, BINARY, tag - 0xc4);
        case 0xc7: case 0xc8: case 0xc9: return counted(cursor, EXTENSION, tag - 0xc7);
        case 0xca: return sized(cursor, FLOAT, 4);
        case 0xcb: return sized(cursor, FLOAT, 8);
        case 0xcc: case 0xcd: case 0xce: case 0xcf: return wide_integer(cursor, tag - 0xcc, false);
        case 0xd0: case 0xd1: case 0xd2: case 0xd3: return wide_integer(cursor, tag - 0xd0, true);
        case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8:
            return sized(cursor, EXTENSION, 1 + (UINT64_C(1) << (tag - 0xd4)));
        case 0xd9: case 0xda: case 0xdb: return counted(cursor, TEXT, tag - 0xd9);
        case 0xdc: return collection(cursor, ARRAY, 2);
        case 0xdd: return collection(cursor, ARRAY, 4);
        case 0xde: return collection(cursor, MAP, 2);
        case 0xdf: return collection(cursor, MAP, 4);
        default: return broken();
    }
}

static Value next(Cursor *cursor) {
    uint64_t first;
    if (!number(cursor, 1, &first)) return broken();
    uint8_t tag = (uint8_t)first;
    Value value;
    if (tag < 0x80) return integer(tag, false);
    if (tag >= 0xe0) return integer((uint64_t)(int64_t)(int8_t)tag, true);
    if (tag < 0x90) return (Value){.type = MAP, .count = tag & 0x0f};
    if (tag < 0xa0) return (Value){.type = ARRAY, .count = tag & 0x0f};
    value = tag < 0xc0 ? sized(cursor, TEXT, tag & 0x1f) : tagged(cursor, tag);
    return value.type == TEXT && !is_utf8(value.bytes) ? broken() : value;
}

/* Passes over what is in a value that next() returned. */
static bool skip(Cursor *cursor, Value value, int depth) {
    if (value.type == BROKEN || depth > DEEPEST) return false;
    uint64_t parts = value.type == MAP ? 2 * value.count : value.type == ARRAY ? value.count : 0;
    for (; parts > 0; parts--) {
        if (!skip(cursor, next(cursor), depth + 1)) return false;
    }
    return true;
}

static bool text_or_nil(Cursor *cursor) {
    Type type = next(cursor).type;
    return type == TEXT || type == NIL;
}

const char *record_decode(Bytes bytes, Record *record) {
    Cursor cursor = {bytes.data, bytes.data + bytes.size};
    Value value = next(&cursor);
    if (value.type != ARRAY || value.count != FIELDS) return "it is no array of 14 fields";
    value = next(&cursor);
    if (value.type != INTEGER || value.integer.negative ||
        (value.integer.value != 1 && value.integer.value != 2))
        return "its format is neither 1 nor 2";
    if ((value = next(&cursor)).type != INTEGER) return "its position is no integer";
    record->position = value.integer;
    if ((value = next(&cursor)).type != TEXT) return "its stream is no text";
    record->stream = value.bytes;
    if ((value = next(&cursor)).type != INTEGER) return "its version is no integer";
    record->version = value.integer;
    if (next(&cursor).type != BINARY) return "its id is no bytes";
    if ((value = next(&cursor)).type != INTEGER) return "its time is no integer";
    record->time_ns = value.integer;
    if ((value = next(&cursor)).type != TEXT) return "its topic is no text";
    record->topic = value.bytes;
    if (next(&cursor).type != INTEGER) return "its schema is no integer";
    if (!text_or_nil(&cursor)) return "its correlation is neither text nor nil";
    value = next(&cursor);
    if (value.type != INTEGER && value.type != NIL) return "its causation is neither integer nor nil";
    record->caused = value.type == INTEGER;
    record->causation = value.integer;
    if (next(&cursor).type != TEXT) return "its source is no text";
    if (!text_or_nil(&cursor)) return "its key is neither text nor nil";
    if (!text_or_nil(&cursor)) return "its subject is neither text nor nil";
    if ((value = next(&cursor)).type != BINARY) return "its body is no bytes";
    record->body = value.bytes;
    return cursor.at == cursor.end ? NULL : "there are bytes after it";
}

static bool counting(Value value, int64_t *into) {
    if (value.type != INTEGER || value.integer.negative || value.integer.value > INT64_MAX) return false;
    *into = (int64_t)value.integer.value;
    return true;
}

/* One field of a declaration: whether it is of the right type. */
static bool declared(Declaration *declaration, Bytes name, Value value) {
    if (same(name, text_of("before"))) declaration->before = value.bytes;
    else if (same(name, text_of("origin"))) declaration->origin = value.bytes;
    else if (same(name, text_of("common"))) return counting(value, &declaration->common);
    else if (same(name, text_of("root"))) {
        return value.type == TEXT && hex_decode(value.bytes, declaration->root, HASH_SIZE);
    } else return true;
    return value.type == TEXT;
}

bool declaration_decode(Bytes body, Declaration *declaration) {
    Cursor cursor = {body.data, body.data + body.size};
    Value map = next(&cursor);
    unsigned all = 0;
    static const char *const names[] = {"before", "origin", "common", "root"};
    if (map.type != MAP) return false;
    for (uint64_t i = 0; i < map.count; i++) {
        Value name = next(&cursor), value = next(&cursor);
        if (name.type != TEXT || !skip(&cursor, value, 0)) return false;
        if (!declared(declaration, name.bytes, value)) return false;
        for (unsigned n = 0; n < 4; n++) all |= (unsigned)same(name.bytes, text_of(names[n])) << n;
    }
    return all == 0xf && cursor.at == cursor.end;
}
