/* The Merkle tree of RFC 6962, section 2.1. */
#include <openssl/evp.h>
#include <string.h>

#include "verifier.h"

/* Looked up once: OpenSSL takes longer to look for an algorithm than to hash a record. */
static EVP_MD_CTX *context;
static EVP_MD *algorithm;

static void hashed(const uint8_t *prefix, Bytes first, Bytes second, uint8_t hash[HASH_SIZE]) {
    if (context == NULL) {
        context = allocated(EVP_MD_CTX_new());
        algorithm = allocated(EVP_MD_fetch(NULL, "SHA256", NULL));
    }
    if (!EVP_DigestInit_ex2(context, algorithm, NULL) ||
        (prefix != NULL && !EVP_DigestUpdate(context, prefix, 1)) ||
        !EVP_DigestUpdate(context, first.data, first.size) ||
        !EVP_DigestUpdate(context, second.data, second.size) ||
        !EVP_DigestFinal_ex(context, hash, NULL))
        unreadable("OpenSSL cannot compute SHA-256");
}

static const uint8_t LEAF = 0, NODE = 1;
static const Bytes NOTHING = {(const uint8_t *)"", 0};

void sha256(Bytes bytes, uint8_t hash[HASH_SIZE]) { hashed(NULL, bytes, NOTHING, hash); }

void leaf_hash(Bytes record, uint8_t hash[HASH_SIZE]) { hashed(&LEAF, record, NOTHING, hash); }

void node_hash(const uint8_t *left, const uint8_t *right, uint8_t hash[HASH_SIZE]) {
    hashed(&NODE, (Bytes){left, HASH_SIZE}, (Bytes){right, HASH_SIZE}, hash);
}

void tree_add(Tree *tree, const uint8_t leaf[HASH_SIZE]) {
    memcpy(tree->node[tree->depth++], leaf, HASH_SIZE);
    /* Each full pair of subtrees of one size becomes one: as a carry in a binary counter. */
    for (uint64_t full = tree->size++; full & 1; full >>= 1) {
        tree->depth--;
        node_hash(tree->node[tree->depth - 1], tree->node[tree->depth], tree->node[tree->depth - 1]);
    }
}

void tree_root(const Tree *tree, uint8_t root[HASH_SIZE]) {
    if (tree->depth == 0) {
        sha256(NOTHING, root);
        return;
    }
    memcpy(root, tree->node[tree->depth - 1], HASH_SIZE);
    for (int i = tree->depth - 2; i >= 0; i--) node_hash(tree->node[i], root, root);
}

bool path_root(uint64_t index, uint64_t size, const uint8_t leaf[HASH_SIZE], Bytes path,
               uint8_t root[HASH_SIZE]) {
    const uint8_t *sibling = path.data, *end = path.data + path.size;
    uint64_t last = size - 1;
    if (index >= size || path.size % HASH_SIZE != 0) return false;
    memcpy(root, leaf, HASH_SIZE);
    for (; last > 0; index >>= 1, last >>= 1) {
        if (index == last && !(index & 1)) continue;  /* no sibling: it moves up as it is */
        if (sibling == end) return false;
        if (index & 1) node_hash(sibling, root, root);
        else node_hash(root, sibling, root);
        sibling += HASH_SIZE;
    }
    return sibling == end;
}
