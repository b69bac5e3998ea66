/* What the parts of the verifier share. It is written from docs/log-format.md alone. */
#ifndef VERIFIER_H
#define VERIFIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HASH_SIZE = 32 };

/* The kinds of damage, in the words of docs/audit.md. */
#define EDIT "edit"
#define DELETION "deletion"
#define REORDERING "reordering"
#define BACK_DATING "back-dating"
#define FORK "fork"
#define CUT_TAIL "cut tail"
#define SWAPPED_BLOB "swapped blob"

/* The first thing that is wrong; kind is NULL while nothing is. */
typedef struct {
    const char *kind;
    int64_t position;  /* of the event, counted from 1; NOWHERE for what is no event */
    char detail[512];
} Damage;

enum { NOWHERE = 0 };

/* Returns false, so that a check can end with it. */
bool damaged(Damage *damage, const char *kind, int64_t position, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Ends the program with 2: something cannot be read, so nothing can be said. */
_Noreturn void unreadable(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *printable(char *text);  /* puts ? for what a terminal may obey: names in a log may be anything */
void *allocated(void *memory);  /* memory, or the end of the program */

/* ---- bytes: texts, files, base64 and hex */

typedef struct {
    const uint8_t *data;
    size_t size;
} Bytes;

typedef struct {
    uint8_t *data;
    size_t size;
    size_t capacity;
} Buffer;

void buffer_add(Buffer *buffer, const void *data, size_t size);
void buffer_free(Buffer *buffer);
Buffer read_file(const char *path);
bool base64_decode(Bytes text, Buffer *into);  /* false unless it is canonical */
void base64_encode(Bytes bytes, Buffer *into);  /* with a zero byte at its end */
bool hex_decode(Bytes text, uint8_t *into, size_t size);  /* lower case only */
bool is_utf8(Bytes text);
bool same(Bytes a, Bytes b);
Bytes text_of(const char *text);
bool decimal(Bytes text, uint64_t *value);  /* at most 19 digits, no sign, no leading zero */

/* ---- record: MessagePack */

typedef struct {
    bool negative;
    uint64_t value;  /* in two's complement if negative */
} Integer;

typedef struct {
    Integer position, version, time_ns, causation;
    bool caused;  /* whether causation is not nil */
    Bytes stream, topic, body;
} Record;

int integer_compare(Integer a, Integer b);
Integer integer_of(int64_t value);

/* NULL, or what is wrong with the bytes. */
const char *record_decode(Bytes bytes, Record *record);

typedef struct {
    Bytes before, origin;  /* of the heads until then, and from then on */
    int64_t common;        /* last position that both have */
    uint8_t root[HASH_SIZE];
} Declaration;

/* False if the body of a log.fork_declared says none. */
bool declaration_decode(Bytes body, Declaration *declaration);

/* ---- tree: RFC 6962, section 2.1 */

typedef struct {
    uint64_t size;
    uint8_t node[64][HASH_SIZE];  /* roots of the full subtrees, the largest first */
    int depth;
} Tree;

void sha256(Bytes bytes, uint8_t hash[HASH_SIZE]);
void leaf_hash(Bytes record, uint8_t hash[HASH_SIZE]);
void node_hash(const uint8_t *left, const uint8_t *right, uint8_t hash[HASH_SIZE]);
void tree_add(Tree *tree, const uint8_t leaf[HASH_SIZE]);
void tree_root(const Tree *tree, uint8_t root[HASH_SIZE]);

/* The root that a leaf and its inclusion path give; false if the path has another length. */
bool path_root(uint64_t index, uint64_t size, const uint8_t leaf[HASH_SIZE], Bytes path,
               uint8_t root[HASH_SIZE]);

/* ---- note: signed heads */

typedef struct {
    Buffer text;         /* the file */
    const char *path;
    Bytes origin, signed_text, signatures;
    uint64_t size;
    uint8_t root[HASH_SIZE];
} Head;

typedef struct {
    Buffer name;
    uint8_t id[4];
    uint8_t type;
    Buffer material;  /* the key itself, without the type */
} Key;

void key_parse(const char *text, Key *key);
void key_free(Key *key);
const char *head_parse(Bytes text, Head *head);  /* NULL, or what is wrong */

/* Whether one of the keys signed the head and none of their signatures is wrong. */
bool head_signed(const Head *head, const Key *keys, size_t count, Damage *damage);

/* ---- ml_dsa: FIPS 204 */

enum { ML_DSA_44_KEY_SIZE = 1312, ML_DSA_44_SIZE = 2420 };

bool ml_dsa_44_verifies(const uint8_t key[ML_DSA_44_KEY_SIZE], Bytes message,
                        const uint8_t signature[ML_DSA_44_SIZE]);

/* ---- streams: the last version of each */

typedef struct {
    uint8_t *stream;
    size_t size;
    int64_t version;
} Stream;

typedef struct {
    Stream *slots;
    size_t count, capacity;
} Streams;

int64_t *version_of(Streams *streams, Bytes stream);  /* 0 for a new one */
void streams_free(Streams *streams);

/* ---- archive: files of sealed records */

typedef struct {
    int64_t first, last;
    char digest[2 * HASH_SIZE + 1];
} Segment;

typedef struct Sealed Sealed;

Sealed *sealed_open(const char *folder, const Segment *segment, Damage *damage);  /* NULL if its file is damaged */
bool sealed_next(Sealed *sealed, Buffer *record);  /* false if the next record cannot be unpacked */
void sealed_close(Sealed *sealed);

/* ---- log: the file */

typedef struct Fork {
    Declaration said;
    Buffer body;  /* that it points into */
    bool holds;        /* the log had that root at the common position */
} Fork;

typedef struct {
    int64_t events;
    Buffer origin;  /* that its heads have, or the beginning of it */
    const char *archive;  /* the folder */
    bool archived;  /* whether it has a table of segments */
    Tree tree;
    Fork *forks;
    size_t fork_count;
    void *database;
} Log;

void log_open(Log *log, const char *path, const char *archive);
bool log_check(Log *log, Damage *damage);

typedef struct {
    uint64_t size;  /* how many events */
    uint8_t root[HASH_SIZE];
} Root;

/* Fills in the root at each size, in one pass over the leaf hashes of a log that was checked. */
void log_roots(Log *log, Root *roots, size_t count);
void log_close(Log *log);

/* ---- blobs */

bool blobs_check(const char *folder, Damage *damage);

#endif
