/* verify-log: checks a log of Cortex, written from docs/log-format.md alone. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verifier.h"

static const char USAGE[] =
    "usage: verify-log LOG [--archive FOLDER] [--blobs FOLDER] [--head FILE]... [--key KEY]...\n"
    "       verify-log --proof FILE --record FILE --key KEY...\n"
    "\n"
    "Checks a log of Cortex, or the proof that an event is in one. KEY is a public key, or its file.\n"
    "A head or a proof needs the KEY of who signed it. Prints one JSON object, with --json and without.\n"
    "Ends with 0 if every check passes, 1 if one fails, 2 if something cannot be read.\n";

typedef struct {
    const char *log, *blobs, *proof, *record, *archive;
    Head *heads;
    size_t head_count;
    Key *keys;
    size_t key_count;
} Arguments;

/* ---- the heads of a log */

static bool of_this_log(const Log *log, Bytes origin) {
    Bytes own = {log->origin.data, log->origin.size};
    bool begins = origin.size >= own.size && same((Bytes){origin.data, own.size}, own);
    return begins && (origin.size == own.size || origin.data[own.size] == '/');
}

/* The declaration that the log left this origin. */
static const Fork *fork_from(const Log *log, Bytes origin) {
    for (size_t i = 0; i < log->fork_count; i++) {
        if (log->forks[i].holds && same(log->forks[i].said.before, origin)) return &log->forks[i];
    }
    return NULL;
}

static bool head_check(Log *log, const Head *head, Damage *damage) {
    Root root = {.size = head->size};
    const Fork *fork = fork_from(log, head->origin);
    if (!of_this_log(log, head->origin))
        return damaged(damage, FORK, NOWHERE, "%s: it is a head of another log", head->path);
    if (fork != NULL && head->size > (uint64_t)fork->said.common) {
        fprintf(stderr, "declared fork: of the %" PRIu64 " events of %s, the log has the first %" PRId64 "\n", head->size,
                head->path, fork->said.common);
        return true;
    }
    if (head->size > (uint64_t)log->events)
        return damaged(damage, CUT_TAIL, log->events + 1, "%s: it has %" PRIu64 " events", head->path, head->size);
    log_roots(log, &root, 1);
    return memcmp(root.root, head->root, HASH_SIZE) == 0 ||
           damaged(damage, FORK, (int64_t)head->size, "%s: the log had another root there", head->path);
}

/* ---- a proof */

/* The text after a word, up to the end of the line; false if the line is another one. */
static bool line_after(Bytes *rest, const char *word, Bytes *value) {
    size_t size = strlen(word);
    const uint8_t *end = rest->size == 0 ? NULL : memchr(rest->data, '\n', rest->size);
    if (end == NULL || rest->size < size || memcmp(rest->data, word, size) != 0) return false;
    *value = (Bytes){rest->data + size, (size_t)(end - rest->data) - size};
    rest->size -= (size_t)(end - rest->data) + 1;
    rest->data = end + 1;
    return true;
}

static const char *proof_parse(Bytes rest, uint64_t *index, Buffer *path, Head *head) {
    Bytes line;
    Buffer hash = {0};
    if (!line_after(&rest, "c2sp.org/tlog-proof@v1", &line) || line.size > 0) return "it is no proof";
    line_after(&rest, "extra ", &line);
    if (!line_after(&rest, "index ", &line) || !decimal(line, index)) return "it has no index";
    while (line_after(&rest, "", &line) && line.size > 0) {
        if (!base64_decode(line, &hash) || hash.size != HASH_SIZE) return "its path has a line that is no hash";
        buffer_add(path, hash.data, hash.size);
    }
    buffer_free(&hash);
    return head_parse(rest, head);
}

/* The root that the record and the path give, against that of the head. */
static bool under(const Head *head, uint64_t index, const Buffer *path, const Buffer *record) {
    uint8_t leaf[HASH_SIZE], root[HASH_SIZE];
    leaf_hash((Bytes){record->data, record->size}, leaf);
    return path_root(index, head->size, leaf, (Bytes){path->data, path->size}, root) &&
           memcmp(root, head->root, HASH_SIZE) == 0;
}

static bool proof_check(const Arguments *given, Damage *damage) {
    Buffer proof = read_file(given->proof), record = read_file(given->record), path = {0};
    uint64_t index = 0;
    Head head = {.path = given->proof};
    const char *wrong = proof_parse((Bytes){proof.data, proof.size}, &index, &path, &head);
    if (wrong != NULL) unreadable("%s: %s", given->proof, wrong);
    bool good = head_signed(&head, given->keys, given->key_count, damage);
    if (good && !under(&head, index, &path, &record))
        good = damaged(damage, EDIT, (int64_t)index + 1, "the record is not under this head");
    buffer_free(&proof);
    buffer_free(&record);
    buffer_free(&path);
    return good;
}

/* ---- the command */

static void print_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static int report_damage(const Damage *damage) {
    printf("{\"holds\": false, \"kind\": \"%s\", \"position\": %" PRId64 ", \"problem\": ", damage->kind,
           damage->position);
    print_text(damage->detail);
    puts("}");
    return 1;
}

static int report_whole(const Log *log) {
    uint8_t root[HASH_SIZE];
    Buffer text = {0};
    tree_root(&log->tree, root);
    base64_encode((Bytes){root, sizeof root}, &text);
    printf("{\"holds\": true, \"events\": %" PRId64 ", \"root\": \"%s\"}\n", log->events, (const char *)text.data);
    buffer_free(&text);
    return 0;
}

static void read_head(Head *head) {
    head->text = read_file(head->path);
    const char *wrong = head_parse((Bytes){head->text.data, head->text.size}, head);
    if (wrong != NULL) unreadable("%s is no signed head: %s", head->path, wrong);
}

static bool heads_signed(const Arguments *given, Damage *damage) {
    for (size_t i = 0; i < given->head_count; i++) read_head(&given->heads[i]);
    for (size_t i = 0; i < given->head_count; i++) {
        if (!head_signed(&given->heads[i], given->keys, given->key_count, damage)) return false;
    }
    return true;
}

static int check_log(const Arguments *given) {
    Log log = {0};
    Damage damage = {0};
    if (!heads_signed(given, &damage)) return report_damage(&damage);
    Buffer archive = {0};  /* the folder beside the log, unless another one is given */
    const char *name = strrchr(given->log, '/');
    buffer_add(&archive, given->log, name == NULL ? 0 : (size_t)(name + 1 - given->log));
    buffer_add(&archive, "archive", 8);
    log_open(&log, given->log, given->archive != NULL ? given->archive : (const char *)archive.data);
    bool good = log_check(&log, &damage);
    for (size_t i = 0; good && i < given->head_count; i++) good = head_check(&log, &given->heads[i], &damage);
    if (good && given->blobs != NULL) good = blobs_check(given->blobs, &damage);
    int code = good ? report_whole(&log) : report_damage(&damage);
    log_close(&log);
    buffer_free(&archive);
    return code;
}

static int check_proof(const Arguments *given) {
    Damage damage = {0};
    if (!proof_check(given, &damage)) return report_damage(&damage);
    puts("{\"holds\": true}");
    return 0;
}

static void add_head(Arguments *given, const char *path) {
    given->heads = allocated(realloc(given->heads, (given->head_count + 1) * sizeof *given->heads));
    given->heads[given->head_count++] = (Head){.path = path};
}

static void add_key(Arguments *given, const char *text) {
    Buffer file = {0};
    if (access(text, R_OK) == 0) {
        file = read_file(text);
        buffer_add(&file, "", 1);
        text = (const char *)file.data;
    }
    given->keys = allocated(realloc(given->keys, (given->key_count + 1) * sizeof *given->keys));
    given->keys[given->key_count] = (Key){0};
    key_parse(text, &given->keys[given->key_count++]);
    buffer_free(&file);
}

static void arguments_free(Arguments *given) {
    for (size_t i = 0; i < given->head_count; i++) buffer_free(&given->heads[i].text);
    for (size_t i = 0; i < given->key_count; i++) key_free(&given->keys[i]);
    free(given->heads);
    free(given->keys);
}

/* An option and its value, in one word with = or in two; how many words it has, 0 if there is no such option. */
static int option(Arguments *given, const char *word, const char *next) {
    static const char *const names[] = {"--blobs", "--proof", "--record", "--archive", "--head", "--key"};
    for (int i = 0; i < 6; i++) {
        size_t size = strlen(names[i]);
        const char *value = strncmp(word, names[i], size) != 0 ? NULL : word[size] == '=' ? word + size + 1 : next;
        if (value == NULL || (word[size] != '=' && word[size] != 0)) continue;
        if (i < 4) *(const char **[]){&given->blobs, &given->proof, &given->record, &given->archive}[i] = value;
        else if (i == 4) add_head(given, value);
        else add_key(given, value);
        return value == next ? 2 : 1;
    }
    return 0;
}

static bool parsed(Arguments *given, int count, char **words) {
    for (int i = 1, taken; i < count; i += taken) {
        taken = 1;
        if (strcmp(words[i], "--json") == 0) continue;
        if (strncmp(words[i], "--", 2) != 0 && given->log == NULL) given->log = words[i];
        else if ((taken = option(given, words[i], i + 1 < count ? words[i + 1] : NULL)) == 0) return false;
    }
    bool proof = given->proof != NULL && given->record != NULL;
    bool signed_text = proof || given->head_count > 0;
    return proof == (given->log == NULL) && (given->key_count > 0 || !signed_text);
}

int main(int count, char **words) {
    Arguments given = {0};
    int code = 2;
    if (!parsed(&given, count, words)) fputs(USAGE, stderr);
    else code = given.log == NULL ? check_proof(&given) : check_log(&given);
    arguments_free(&given);
    return code;
}
