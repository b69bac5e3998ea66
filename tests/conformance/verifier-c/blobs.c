/* Blobs: each file's payload against the digest in its name. */
#include <dirent.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "verifier.h"

enum { LARGEST = 256 << 20 };  /* bytes in a payload */

/* The SHA-256 of what a zstd file holds, a part at a time: a small file can hold very much. */
static bool payload_digest(Bytes file, uint8_t digest[HASH_SIZE]) {
    static uint8_t part[1 << 17];
    ZSTD_DCtx *stream = allocated(ZSTD_createDCtx());
    EVP_MD_CTX *context = allocated(EVP_MD_CTX_new());
    ZSTD_inBuffer input = {file.data, file.size, 0};
    size_t left = 1, size = 0;
    bool fine = EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
    while (fine && left != 0) {
        ZSTD_outBuffer output = {part, sizeof part, 0};
        size_t before = input.pos;
        left = ZSTD_decompressStream(stream, &output, &input);
        bool stuck = input.pos == before && output.pos == 0;
        size += output.pos;
        fine = !ZSTD_isError(left) && !(left != 0 && stuck) && size <= LARGEST &&
               EVP_DigestUpdate(context, part, output.pos);
    }
    fine = fine && input.pos == input.size && EVP_DigestFinal_ex(context, digest, NULL);
    EVP_MD_CTX_free(context);
    ZSTD_freeDCtx(stream);
    return fine;
}

/* What is there may be gone at any time: Cortex removes blobs that no event names. */
static bool blob_check(const char *path, const char *name, Damage *damage) {
    uint8_t digest[HASH_SIZE], named[HASH_SIZE];
    struct stat found;
    if (stat(path, &found) != 0) {
        if (errno == ENOENT) return true;
        unreadable("%s cannot be read: %s", path, strerror(errno));
    }
    if (!S_ISREG(found.st_mode)) return damaged(damage, SWAPPED_BLOB, NOWHERE, "%s is no file", name);
    hex_decode(text_of(name), named, sizeof named);
    Buffer file = read_file(path);
    bool good = payload_digest((Bytes){file.data, file.size}, digest) && memcmp(digest, named, HASH_SIZE) == 0;
    buffer_free(&file);
    return good || damaged(damage, SWAPPED_BLOB, NOWHERE, "%s has other bytes than its name says", name);
}

/* Entries of a folder whose names are hex digits of this length, in order; -1 if there is no folder. */
static int entries(const char *folder, size_t length, struct dirent ***found) {
    int count = scandir(folder, found, NULL, alphasort), kept = 0;
    for (int i = 0; i < count; i++) {
        const char *name = (*found)[i]->d_name;
        if (strlen(name) == length && strspn(name, "0123456789abcdef") == length) (*found)[kept++] = (*found)[i];
        else free((*found)[i]);
    }
    return count < 0 ? count : kept;
}

static bool folder_check(const char *folder, const char *prefix, Damage *damage) {
    struct dirent **files = NULL;
    char path[8192], name[65];
    snprintf(path, sizeof path, "%s/%s", folder, prefix);
    int count = entries(path, 62, &files);
    bool good = true;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", folder, prefix, files[i]->d_name);
        snprintf(name, sizeof name, "%.2s%.62s", prefix, files[i]->d_name);
        good = good && blob_check(path, name, damage);
        free(files[i]);
    }
    free(files);
    return good;
}

bool blobs_check(const char *folder, Damage *damage) {
    struct dirent **folders = NULL;
    int count = entries(folder, 2, &folders);
    if (count < 0) unreadable("the folder %s cannot be read", folder);
    bool good = true;
    for (int i = 0; i < count; i++) {
        good = good && folder_check(folder, folders[i]->d_name, damage);
        free(folders[i]);
    }
    free(folders);
    return good;
}
