/* The archive: the records in a sequence of zstd frames. */
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "verifier.h"

enum { RECORDS = 256, LARGEST = 256 << 20 };  /* in a frame; bytes of a record */

struct Sealed {
    FILE *file;
    ZSTD_DCtx *stream;
    uint8_t packed[(128 << 10) + 3];  /* a block of zstd and its header */
    ZSTD_inBuffer input;       /* what of packed is not used yet */
    uint8_t lengths[4 * RECORDS];
    int next;                  /* number of the next record in the frame */
};

/* NULL if there is no such file: what is no plain file, a pipe for instance, is none. */
static FILE *opened(const char *path) {
    struct stat found;
    FILE *file = NULL;
    if (stat(path, &found) == 0) {
        if (!S_ISREG(found.st_mode)) return NULL;
        file = fopen(path, "rb");
    }
    if (file == NULL && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
        unreadable("%s cannot be read: %s", path, strerror(errno));
    return file;
}

/* More packed bytes; false at the end of the file. */
static bool refill(Sealed *sealed) {
    size_t size = fread(sealed->packed, 1, sizeof sealed->packed, sealed->file);
    if (ferror(sealed->file)) unreadable("a file of the archive cannot be read: %s", strerror(errno));
    sealed->input.size = size;
    sealed->input.pos = 0;
    return size > 0;
}

/* Whether the file has the digest of the segment; then it is at its beginning again. */
static bool is_whole(Sealed *sealed, const Segment *segment) {
    uint8_t digest[HASH_SIZE], named[HASH_SIZE];
    EVP_MD_CTX *context = allocated(EVP_MD_CTX_new());
    bool fine = EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
    while (fine && refill(sealed)) fine = EVP_DigestUpdate(context, sealed->packed, sealed->input.size) == 1;
    if (!fine || !EVP_DigestFinal_ex(context, digest, NULL)) unreadable("OpenSSL cannot compute SHA-256");
    EVP_MD_CTX_free(context);
    rewind(sealed->file);
    hex_decode(text_of(segment->digest), named, sizeof named);
    return memcmp(digest, named, HASH_SIZE) == 0;
}

Sealed *sealed_open(const char *folder, const Segment *segment, Damage *damage) {
    char path[8192];
    snprintf(path, sizeof path, "%s/%012" PRId64 "-%012" PRId64 "-%s.zst", folder, segment->first, segment->last,
             segment->digest);
    FILE *file = opened(path);
    if (file == NULL) {
        damaged(damage, DELETION, segment->first, "the file of its segment is missing");
        return NULL;
    }
    Sealed *sealed = allocated(calloc(1, sizeof *sealed));
    sealed->file = file;
    sealed->stream = allocated(ZSTD_createDCtx());
    sealed->input.src = sealed->packed;
    sealed->next = RECORDS;
    if (is_whole(sealed, segment)) return sealed;
    damaged(damage, EDIT, segment->first, "the file of its segment has other bytes than its name says");
    sealed_close(sealed);
    return NULL;
}

void sealed_close(Sealed *sealed) {
    ZSTD_freeDCtx(sealed->stream);
    fclose(sealed->file);
    free(sealed);
}

/* Exactly so many unpacked bytes. */
static bool unpack(Sealed *sealed, uint8_t *into, size_t size) {
    ZSTD_outBuffer output = {into, size, 0};
    while (output.pos < size) {
        size_t result = ZSTD_decompressStream(sealed->stream, &output, &sealed->input);
        if (ZSTD_isError(result)) return false;
        if (sealed->input.pos == sealed->input.size && output.pos < size && !refill(sealed)) return false;
    }
    return true;
}

bool sealed_next(Sealed *sealed, Buffer *record) {
    if (sealed->next == RECORDS) {
        if (!unpack(sealed, sealed->lengths, sizeof sealed->lengths)) return false;
        sealed->next = 0;
    }
    const uint8_t *at = sealed->lengths + 4 * sealed->next++;
    size_t size = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
    uint8_t part[1 << 14];
    if (size > LARGEST) return false;
    record->size = 0;
    while (record->size < size) {  /* a part at a time: the length may be a lie */
        size_t some = size - record->size < sizeof part ? size - record->size : sizeof part;
        if (!unpack(sealed, part, some)) return false;
        buffer_add(record, part, some);
    }
    return true;
}
