/* Signed heads: checkpoints in signed notes, of c2sp.org. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verifier.h"

enum { ED25519 = 1, ED25519_COSIGNED = 4, ML_DSA_44_COSIGNED = 6, TIME_SIZE = 8 };
enum { ED25519_KEY_SIZE = 32, ED25519_SIZE = 64 };

static const char DASH[] = "\xe2\x80\x94 ";  /* the em dash before each signature */

/* The text up to a character, which is cut off; false if it is not there. */
static bool before(Bytes *rest, char end, Bytes *part) {
    const uint8_t *at = rest->size == 0 ? NULL : memchr(rest->data, end, rest->size);
    if (at == NULL) return false;
    *part = (Bytes){rest->data, (size_t)(at - rest->data)};
    rest->data += part->size + 1;
    rest->size -= part->size + 1;
    return true;
}

static bool known_type(const Key *key) {
    size_t size = key->material.size;
    if (key->type == ML_DSA_44_COSIGNED) return size == ML_DSA_44_KEY_SIZE;
    return (key->type == ED25519 || key->type == ED25519_COSIGNED) && size == ED25519_KEY_SIZE;
}

void key_parse(const char *text, Key *key) {
    Bytes rest = text_of(text), name, id;
    Buffer bytes = {0}, named = {0};
    uint8_t hash[HASH_SIZE];
    while (rest.size > 0 && strchr(" \r\n\t", rest.data[rest.size - 1]) != NULL) rest.size--;
    if (!before(&rest, '+', &name) || name.size == 0 || !before(&rest, '+', &id) ||
        !hex_decode(id, key->id, sizeof key->id) || !base64_decode(rest, &bytes) || bytes.size < 2)
        unreadable("%s is no public key: expected NAME+ID+KEY", text);
    key->type = bytes.data[0];
    buffer_add(&key->material, bytes.data + 1, bytes.size - 1);
    buffer_add(&key->name, name.data, name.size);
    buffer_add(&named, name.data, name.size);
    buffer_add(&named, "\n", 1);
    buffer_add(&named, bytes.data, bytes.size);
    sha256((Bytes){named.data, named.size}, hash);
    buffer_free(&named);
    buffer_free(&bytes);
    if (memcmp(hash, key->id, sizeof key->id) != 0) unreadable("%s has another id than its key", text);
    if (!known_type(key)) unreadable("%s has a type or a size that is not known here", text);
}

void key_free(Key *key) {
    buffer_free(&key->name);
    buffer_free(&key->material);
}

static bool without_control_characters(Bytes text) {
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < 0x20 && text.data[i] != '\n') return false;
    }
    return is_utf8(text);
}

/* A line of a signature; the bytes are the id of the key and the signature. */
static bool line_parse(Bytes line, Bytes *name, Buffer *bytes) {
    size_t dash = strlen(DASH);
    if (line.size < dash || memcmp(line.data, DASH, dash) != 0) return false;
    line = (Bytes){line.data + dash, line.size - dash};
    return before(&line, ' ', name) && name->size > 0 && base64_decode(line, bytes) && bytes->size > 4;
}

static const char *signatures_parse(Bytes rest) {
    Bytes line, name;
    Buffer bytes = {0};
    bool fine = rest.size > 0 && rest.data[rest.size - 1] == '\n';
    while (fine && before(&rest, '\n', &line)) fine = line_parse(line, &name, &bytes);
    buffer_free(&bytes);
    return fine ? NULL : "a line below the empty line is no signature";
}

const char *head_parse(Bytes text, Head *head) {
    Bytes rest, line;
    Buffer root = {0};
    size_t end = text.size;
    if (!without_control_characters(text)) return "it is no UTF-8, or has control characters";
    while (end >= 2 && memcmp(text.data + end - 2, "\n\n", 2) != 0) end--;
    if (end < 2) return "there is no empty line before the signatures";
    head->signed_text = rest = (Bytes){text.data, end - 1};
    head->signatures = (Bytes){text.data + end, text.size - end};
    if (!before(&rest, '\n', &head->origin) || head->origin.size == 0) return "it has no origin";
    if (!before(&rest, '\n', &line) || !decimal(line, &head->size)) return "its size is no number";
    bool hash = before(&rest, '\n', &line) && base64_decode(line, &root) && root.size == HASH_SIZE;
    if (hash) memcpy(head->root, root.data, HASH_SIZE);
    buffer_free(&root);
    if (!hash) return "its root is no hash in base64";
    while (before(&rest, '\n', &line)) {
        if (line.size == 0) return "it has an empty line";
    }
    return signatures_parse(head->signatures);
}

/* What a signature of this type covers. */
static void signed_message(const Head *head, const Key *key, const uint8_t *time, Buffer *message) {
    uint64_t seconds = 0;
    for (int i = 0; i < TIME_SIZE && key->type != ED25519; i++) seconds = seconds << 8 | time[i];
    if (key->type == ED25519_COSIGNED) {
        char lines[64];
        int size = snprintf(lines, sizeof lines, "cosignature/v1\ntime %llu\n", (unsigned long long)seconds);
        buffer_add(message, lines, (size_t)size);
    }
    if (key->type != ML_DSA_44_COSIGNED) {
        buffer_add(message, head->signed_text.data, head->signed_text.size);
        return;
    }
    uint8_t name_size = (uint8_t)key->name.size, origin_size = (uint8_t)head->origin.size;
    uint8_t range[16] = {0};
    for (int i = 0; i < 8; i++) range[15 - i] = (uint8_t)((uint64_t)head->size >> (8 * i));
    buffer_add(message, "subtree/v1\n", 12);  /* with the zero byte at its end */
    buffer_add(message, &name_size, 1);
    buffer_add(message, key->name.data, key->name.size);
    buffer_add(message, time, TIME_SIZE);
    buffer_add(message, &origin_size, 1);
    buffer_add(message, head->origin.data, head->origin.size);
    buffer_add(message, range, sizeof range);
    buffer_add(message, head->root, HASH_SIZE);
}

static bool ed25519_verifies(const uint8_t *key, Bytes message, const uint8_t *signature) {
    EVP_PKEY *public = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, ED25519_KEY_SIZE);
    EVP_MD_CTX *context = allocated(EVP_MD_CTX_new());
    bool good = public != NULL && EVP_DigestVerifyInit(context, NULL, NULL, NULL, public) == 1 &&
                EVP_DigestVerify(context, signature, ED25519_SIZE, message.data, message.size) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(public);
    return good;
}

static bool verifies(const Head *head, const Key *key, Bytes signature) {
    size_t time = key->type == ED25519 ? 0 : TIME_SIZE;
    bool lattice = key->type == ML_DSA_44_COSIGNED;
    Buffer text = {0};
    if (signature.size != time + (lattice ? ML_DSA_44_SIZE : ED25519_SIZE)) return false;
    signed_message(head, key, signature.data, &text);
    Bytes message = {text.data, text.size};
    bool good = lattice ? ml_dsa_44_verifies(key->material.data, message, signature.data + time)
                        : ed25519_verifies(key->material.data, message, signature.data + time);
    buffer_free(&text);
    return good;
}

bool head_signed(const Head *head, const Key *keys, size_t count, Damage *damage) {
    Bytes rest = head->signatures, line, name;
    Buffer bytes = {0};
    size_t good = 0;
    bool bad = false;
    while (!bad && before(&rest, '\n', &line)) {
        line_parse(line, &name, &bytes);
        for (size_t i = 0; i < count && !bad; i++) {
            Bytes own = {keys[i].name.data, keys[i].name.size};
            if (!same(name, own) || memcmp(bytes.data, keys[i].id, 4) != 0) continue;
            bad = !verifies(head, &keys[i], (Bytes){bytes.data + 4, bytes.size - 4});
            good++;
        }
    }
    buffer_free(&bytes);
    if (bad) return damaged(damage, EDIT, NOWHERE, "%s: a signature is wrong", head->path);
    if (good > 0) return true;
    return damaged(damage, FORK, NOWHERE, "%s: none of the keys that you trust signed it", head->path);
}
