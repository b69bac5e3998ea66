/* Texts, files, base64 and hex. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verifier.h"

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void *allocated(void *memory) {
    if (memory == NULL) unreadable("there is not enough memory");
    return memory;
}

void unreadable(const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "cannot be checked: %s\n", printable(text));
    exit(2);
}

char *printable(char *text) {
    for (char *at = text; *at; at++) {
        if (*at < 0x20 || *at > 0x7e) *at = '?';
    }
    return text;
}

bool damaged(Damage *damage, const char *kind, int64_t position, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(damage->detail, sizeof damage->detail, format, arguments);
    va_end(arguments);
    printable(damage->detail);
    damage->kind = kind;
    damage->position = position;
    return false;
}

void buffer_add(Buffer *buffer, const void *data, size_t size) {
    if (buffer->size + size > buffer->capacity) {
        buffer->capacity = 2 * (buffer->size + size) + 64;
        buffer->data = allocated(realloc(buffer->data, buffer->capacity));
    }
    if (size > 0) memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

void buffer_free(Buffer *buffer) {
    free(buffer->data);
    *buffer = (Buffer){0};
}

Buffer read_file(const char *path) {
    Buffer buffer = {0};
    char part[65536];
    FILE *file = fopen(path, "rb");
    if (file == NULL) unreadable("%s cannot be read: %s", path, strerror(errno));
    for (size_t size; (size = fread(part, 1, sizeof part, file)) > 0;) buffer_add(&buffer, part, size);
    if (ferror(file)) unreadable("%s cannot be read: %s", path, strerror(errno));
    fclose(file);
    return buffer;
}

bool base64_decode(Bytes text, Buffer *into) {
    into->size = 0;
    if (text.size % 4 != 0) return false;
    for (size_t start = 0; start < text.size; start += 4) {
        uint32_t bits = 0;
        int digits = 0;
        for (size_t i = start; i < start + 4; i++) {
            const char *digit = text.data[i] == 0 ? NULL : strchr(ALPHABET, text.data[i]);
            if (digit != NULL && digits == (int)(i - start)) {
                bits = bits << 6 | (uint32_t)(digit - ALPHABET);
                digits++;
            } else if (text.data[i] != '=') {
                return false;
            }
        }
        bool last = start + 4 == text.size;
        if (digits < 2 || (digits < 4 && !last)) return false;
        bits <<= 6 * (4 - digits);
        /* What the padding cuts off must be zero, or two texts would mean the same bytes. */
        if ((digits == 2 && (bits & 0xffff)) || (digits == 3 && (bits & 0xff))) return false;
        uint8_t bytes[3] = {(uint8_t)(bits >> 16), (uint8_t)(bits >> 8), (uint8_t)bits};
        buffer_add(into, bytes, (size_t)digits - 1);
    }
    return true;
}

void base64_encode(Bytes bytes, Buffer *into) {
    for (size_t start = 0; start < bytes.size; start += 3) {
        uint32_t bits = 0;
        char digits[4];
        for (size_t i = 0; i < 3; i++) bits = bits << 8 | (start + i < bytes.size ? bytes.data[start + i] : 0);
        for (size_t i = 0; i < 4; i++) {
            digits[i] = start + i <= bytes.size ? ALPHABET[bits >> (18 - 6 * i) & 0x3f] : '=';
        }
        buffer_add(into, digits, sizeof digits);
    }
    buffer_add(into, "", 1);
}

bool hex_decode(Bytes text, uint8_t *into, size_t size) {
    static const char digits[] = "0123456789abcdef";
    if (text.size != 2 * size) return false;
    for (size_t i = 0; i < text.size; i++) {
        const char *digit = text.data[i] == 0 ? NULL : strchr(digits, text.data[i]);
        if (digit == NULL) return false;
        into[i / 2] = (uint8_t)(into[i / 2] << 4 | (digit - digits));
    }
    return true;
}

bool is_utf8(Bytes text) {
    for (size_t i = 0; i < text.size;) {
        uint8_t first = text.data[i++];
        if (first < 0x80) continue;
        int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
        uint32_t least = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;
        if (first < 0xc2 || first > 0xf4 || text.size - i < (size_t)more) return false;
        uint32_t point = first & (0x3fu >> more);
        for (; more > 0; more--, i++) {
            if ((text.data[i] & 0xc0) != 0x80) return false;
            point = point << 6 | (text.data[i] & 0x3f);
        }
        if (point < least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return false;
    }
    return true;
}

bool same(Bytes a, Bytes b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

Bytes text_of(const char *text) { return (Bytes){(const uint8_t *)text, strlen(text)}; }

bool decimal(Bytes text, uint64_t *value) {
    if (text.size == 0 || text.size > 19 || (text.size > 1 && text.data[0] == '0')) return false;
    *value = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        *value = 10 * *value + (uint64_t)(text.data[i] - '0');
    }
    return true;
}
