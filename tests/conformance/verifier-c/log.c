/* The log file: each event against its columns, its neighbours and its leaf hash. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verifier.h"

enum { TILE_WIDTH = 256 };

static const Bytes FORK_DECLARED = {(const uint8_t *)"log.fork_declared", 17};

/* ---- the database */

static _Noreturn void failed(sqlite3 *database) {
    unreadable("the log cannot be read: %s", sqlite3_errmsg(database));
}

static sqlite3_stmt *prepared(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) failed(database);
    return statement;
}

static bool step(sqlite3_stmt *statement) {
    int result = sqlite3_step(statement);
    if (result != SQLITE_ROW && result != SQLITE_DONE) failed(sqlite3_db_handle(statement));
    return result == SQLITE_ROW;
}

static Bytes column(sqlite3_stmt *statement, int index) {
    const void *data = sqlite3_column_blob(statement, index);
    return (Bytes){data == NULL ? (const void *)"" : data, (size_t)sqlite3_column_bytes(statement, index)};
}

/* Whether a column is this number: a table without types may have 30.0 for 30. */
static bool is_number(sqlite3_stmt *statement, int index, int64_t number) {
    if (sqlite3_column_type(statement, index) == SQLITE_FLOAT)
        return sqlite3_column_double(statement, index) == (double)number;
    return sqlite3_column_type(statement, index) == SQLITE_INTEGER &&
           sqlite3_column_int64(statement, index) == number;
}

/* The path as an SQLite URI. */
static char *uri_of(const char *path) {
    char *escaped = allocated(malloc(3 * strlen(path) + 32)), *at = escaped;
    at += sprintf(at, "file:");
    for (; *path; path++) {
        bool plain = strchr("%?#", *path) == NULL;
        at += sprintf(at, plain ? "%c" : "%%%02X", (unsigned char)*path);
    }
    sprintf(at, "?mode=ro");
    return escaped;
}

static bool readable(sqlite3 *database) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, "select count(*) from sqlite_master", -1, &statement, NULL) != SQLITE_OK)
        return false;
    bool row = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return row;
}

static sqlite3 *opened(const char *path) {
    sqlite3 *database;
    char *uri = uri_of(path), *wal = allocated(malloc(strlen(path) + 5));
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    sprintf(wal, "%s-wal", path);
    if (sqlite3_open_v2(uri, &database, flags, NULL) != SQLITE_OK) unreadable("%s cannot be opened", path);
    if (!readable(database) && access(wal, F_OK) != 0) {
        /* Nobody can write here, so that nobody changes it: SQLite need not lock it. */
        sqlite3_close(database);
        strcat(uri = allocated(realloc(uri, strlen(uri) + 16)), "&immutable=1");
        if (sqlite3_open_v2(uri, &database, flags, NULL) != SQLITE_OK) unreadable("%s cannot be opened", path);
    }
    free(uri);
    free(wal);
    return database;
}

/* The value of a name in the table meta, in memory of its own; it may be missing. */
static bool meta(Log *log, const char *sql, Buffer *value) {
    sqlite3_stmt *statement = prepared(log->database, sql);
    bool found = step(statement);
    Bytes text = found ? column(statement, 0) : (Bytes){0};
    buffer_add(value, text.data, text.size);
    sqlite3_finalize(statement);
    return found;
}

void log_open(Log *log, const char *path, const char *archive) {
    Buffer format = {0};
    log->archive = archive;
    log->database = opened(path);
    /* Functions in a view, if somebody has put one there, are not obeyed. */
    sqlite3_db_config(log->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    /* One view of the log for the whole check, while a hub goes on writing. */
    if (sqlite3_exec(log->database, "begin", NULL, NULL, NULL) != SQLITE_OK) failed(log->database);
    if (!meta(log, "select value from meta where name = 'format'", &format))
        unreadable("this is no log: the table meta has no format");
    Bytes known = {format.data, format.size};
    if (!same(known, text_of("1")) && !same(known, text_of("2")) && !same(known, text_of("3")))
        unreadable("the log has another format than 1, 2 and 3, which this verifier knows");
    log->archived = same(known, text_of("3"));
    buffer_add(&log->origin, "cortex.local/", 13);
    meta(log, "select value from meta where name = 'log_id'", &log->origin);
    buffer_free(&format);
}

void log_close(Log *log) {
    for (size_t i = 0; i < log->fork_count; i++) buffer_free(&log->forks[i].body);
    free(log->forks);
    buffer_free(&log->origin);
    sqlite3_close(log->database);
}

/* ---- the leaf hashes, one after another */

typedef struct {
    sqlite3_stmt *rows;
    int64_t next;  /* position of the hash that comes next */
    Bytes left;    /* of the row */
} Leaves;

static void leaves_open(Leaves *leaves, sqlite3 *database) {
    *leaves = (Leaves){.rows = prepared(database, "select first, hashes from tiles order by first"), .next = 1};
}

/* Takes the row that was read. */
static bool leaves_row(Leaves *leaves, Damage *damage) {
    int64_t first = sqlite3_column_int64(leaves->rows, 0);
    bool whole = sqlite3_column_type(leaves->rows, 0) == SQLITE_INTEGER &&
                 sqlite3_column_type(leaves->rows, 1) == SQLITE_BLOB;
    leaves->left = column(leaves->rows, 1);
    int64_t count = (int64_t)(leaves->left.size / HASH_SIZE);
    if (!whole || count == 0 || leaves->left.size % HASH_SIZE != 0)
        return damaged(damage, EDIT, leaves->next, "its row of leaf hashes has another form");
    if (first != leaves->next)
        return damaged(damage, DELETION, first < leaves->next ? first : leaves->next,
                       "its leaf hash is missing, or is there twice");
    if ((first - 1) / TILE_WIDTH != (first + count - 2) / TILE_WIDTH)
        return damaged(damage, EDIT, first, "a row of tiles is on both sides of a multiple of 256");
    return true;
}

/* The next hash, or NULL after the last one. */
static bool leaves_next(Leaves *leaves, const uint8_t **hash, Damage *damage) {
    *hash = NULL;
    if (leaves->left.size == 0) {
        if (!step(leaves->rows)) return true;
        if (!leaves_row(leaves, damage)) return false;
    }
    *hash = leaves->left.data;
    leaves->left = (Bytes){leaves->left.data + HASH_SIZE, leaves->left.size - HASH_SIZE};
    leaves->next++;
    return true;
}

/* ---- an event against its columns, its leaf hash and the events before it */

typedef struct {
    Streams streams;
    Leaves leaves;
    Integer time_ns;  /* of the event before */
    int64_t head;     /* position of the last event */
    int64_t hashed;   /* position of the last leaf hash */
} Walk;

static bool ends_check(Log *log, Walk *walk, Damage *damage) {
    sqlite3_stmt *ends = prepared(
        log->database, "select (select coalesce(min(position), 1) from events), "
                       "(select coalesce(max(position), 0) from events), "
                       "(select first - 1 + length(hashes) / 32 from tiles order by first desc limit 1)");
    step(ends);
    bool whole = sqlite3_column_type(ends, 0) == SQLITE_INTEGER && sqlite3_column_type(ends, 1) == SQLITE_INTEGER;
    int64_t least = sqlite3_column_int64(ends, 0);
    walk->head = sqlite3_column_int64(ends, 1);
    if (sqlite3_column_type(ends, 2) == SQLITE_INTEGER) walk->hashed = sqlite3_column_int64(ends, 2);
    sqlite3_finalize(ends);
    return (whole && least >= 1) || damaged(damage, EDIT, NOWHERE, "positions are integers from 1 on");
}

static bool leaf_check(Walk *walk, const uint8_t *leaf, int64_t position, Damage *damage) {
    const uint8_t *recorded;
    if (!leaves_next(&walk->leaves, &recorded, damage)) return false;
    if (recorded == NULL) return damaged(damage, DELETION, position, "its leaf hash is missing");
    return memcmp(leaf, recorded, HASH_SIZE) == 0 ||
           damaged(damage, EDIT, position, "its record has another leaf hash");
}

static bool columns_check(sqlite3_stmt *row, const Record *record, int64_t position, Damage *damage) {
    bool equal = sqlite3_column_type(row, 1) == SQLITE_TEXT && same(record->stream, column(row, 1)) &&
                 is_number(row, 2, sqlite3_column_int64(row, 2)) &&
                 integer_compare(record->version, integer_of(sqlite3_column_int64(row, 2))) == 0;
    return equal || damaged(damage, EDIT, position, "its columns say another stream or version than its record");
}

/* Against the events before it. */
static bool order_check(Walk *walk, const Record *record, int64_t position, Damage *damage) {
    int64_t *last = version_of(&walk->streams, record->stream);
    if (integer_compare(record->version, integer_of(*last + 1)) != 0)
        return damaged(damage, REORDERING, position, "its version does not come after %lld", (long long)*last);
    if (integer_compare(record->time_ns, walk->time_ns) < 0)
        return damaged(damage, BACK_DATING, position, "its time is before that of the event before it");
    if (record->caused && (integer_compare(record->causation, integer_of(1)) < 0 ||
                           integer_compare(record->causation, integer_of(position)) >= 0))
        return damaged(damage, EDIT, position, "its cause is no earlier event");
    *last += 1;
    walk->time_ns = record->time_ns;
    return true;
}

/* Keeps a declaration, with bytes of its own: SQLite's are gone at the next row. */
static void keep_fork(Log *log, const Record *record, int64_t position) {
    Fork fork = {0};
    buffer_add(&fork.body, record->body.data, record->body.size);
    bool says = declaration_decode((Bytes){fork.body.data, fork.body.size}, &fork.said);
    if (!says || fork.said.common >= position || same(fork.said.before, fork.said.origin)) {
        buffer_free(&fork.body);
        return;
    }
    log->forks = allocated(realloc(log->forks, (log->fork_count + 1) * sizeof fork));
    log->forks[log->fork_count++] = fork;
}

/* The event at the next position; an event in the archive has no row. */
static bool event_check(Log *log, Walk *walk, Bytes bytes, sqlite3_stmt *row, Damage *damage) {
    int64_t position = log->events + 1;
    Record record = {0};
    uint8_t leaf[HASH_SIZE];
    const char *wrong = record_decode(bytes, &record);
    if (wrong != NULL) return damaged(damage, EDIT, position, "its record cannot be decoded: %s", wrong);
    if (integer_compare(record.position, integer_of(position)) != 0)
        return damaged(damage, REORDERING, position, "its record says another position");
    leaf_hash(bytes, leaf);
    if (!leaf_check(walk, leaf, position, damage) || (row != NULL && !columns_check(row, &record, position, damage)) ||
        !order_check(walk, &record, position, damage))
        return false;
    tree_add(&log->tree, leaf);
    if (same(record.topic, FORK_DECLARED)) keep_fork(log, &record, position);
    log->events = position;
    return true;
}

static bool row_check(Log *log, Walk *walk, sqlite3_stmt *row, Damage *damage) {
    int64_t position = log->events + 1;
    if (!is_number(row, 0, position)) return damaged(damage, DELETION, position, "the event is missing");
    if (sqlite3_column_type(row, 3) != SQLITE_BLOB)
        return damaged(damage, EDIT, position, "its record is no bytes");
    return event_check(log, walk, column(row, 3), row, damage);
}

/* ---- the archive */

/* The row of the segment after so many events: 1 if there is one, -1 if it is damaged. */
static int segment_after(Log *log, int64_t events, Segment *segment, Damage *damage) {
    if (!log->archived) return 0;
    sqlite3_stmt *rows = prepared(log->database, "select last, digest from segments where first = ?1");
    sqlite3_bind_int64(rows, 1, events + 1);
    int found = step(rows);
    uint8_t bytes[HASH_SIZE];
    if (found) {
        Bytes digest = column(rows, 1);
        *segment = (Segment){.first = events + 1, .last = sqlite3_column_int64(rows, 0)};
        bool whole = sqlite3_column_type(rows, 0) == SQLITE_INTEGER && segment->last > events &&
                     (segment->last - events) % TILE_WIDTH == 0 && sqlite3_column_type(rows, 1) == SQLITE_TEXT &&
                     hex_decode(digest, bytes, sizeof bytes);
        if (whole) memcpy(segment->digest, digest.data, 2 * HASH_SIZE);
        if (!whole) damaged(damage, EDIT, events + 1, "the row of its segment was changed");
        found = whole ? 1 : -1;
    }
    sqlite3_finalize(rows);
    return found;
}

/* The file of a segment as a whole, then its records in order. */
static bool segment_check(Log *log, Walk *walk, const Segment *segment, Damage *damage) {
    Sealed *sealed = sealed_open(log->archive, segment, damage);
    Buffer record = {0};
    bool whole = sealed != NULL;
    while (whole && log->events < segment->last) {
        whole = sealed_next(sealed, &record)
                    ? event_check(log, walk, (Bytes){record.data, record.size}, NULL, damage)
                    : damaged(damage, EDIT, segment->first, "the file of its segment is not packed so");
    }
    if (sealed != NULL) sealed_close(sealed);
    buffer_free(&record);
    return whole;
}

/* ---- the check */

/* A page of events: -1 if there is damage, else how many there were. */
static int page_check(Log *log, Walk *walk, sqlite3_stmt *rows, Damage *damage) {
    int result, count = 0;
    sqlite3_reset(rows);
    sqlite3_bind_int64(rows, 1, log->events);
    while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
        if (!row_check(log, walk, rows, damage)) return -1;
        count++;
    }
    if (result == SQLITE_DONE) return count;
    damaged(damage, EDIT, log->events + 1, "SQLite cannot read on: %s", sqlite3_errmsg(log->database));
    return -1;
}

static bool events_check(Log *log, Walk *walk, Damage *damage) {
    /* In pages, as the document says: on a damaged file, each new search may take another way. */
    sqlite3_stmt *rows =
        prepared(log->database, "select position, stream, version, record from events "
                                "where position > ?1 and position <= ?2 order by position limit 4096");
    int count = 1;
    sqlite3_bind_int64(rows, 2, walk->head);
    /* Without any row, all events are in the archive. */
    while (count > 0 && (walk->head == 0 || log->events < walk->head)) {
        Segment segment;
        int found = segment_after(log, log->events, &segment, damage);
        if (found == 0) count = page_check(log, walk, rows, damage);
        else count = found > 0 && segment_check(log, walk, &segment, damage) ? 1 : -1;
    }
    sqlite3_finalize(rows);
    return count >= 0;
}

static void settle_forks(Log *log) {
    Root *roots = allocated(calloc(log->fork_count + 1, sizeof *roots));
    for (size_t i = 0; i < log->fork_count; i++) roots[i].size = (uint64_t)log->forks[i].said.common;
    log_roots(log, roots, log->fork_count);
    for (size_t i = 0; i < log->fork_count; i++)
        log->forks[i].holds = memcmp(roots[i].root, log->forks[i].said.root, HASH_SIZE) == 0;
    free(roots);
}

bool log_check(Log *log, Damage *damage) {
    Walk walk = {0};
    if (!ends_check(log, &walk, damage)) return false;
    leaves_open(&walk.leaves, log->database);
    bool whole = events_check(log, &walk, damage);
    sqlite3_finalize(walk.leaves.rows);
    streams_free(&walk.streams);
    if (whole && walk.hashed > log->events)
        whole = damaged(damage, CUT_TAIL, log->events + 1, "there are leaf hashes of events that are gone");
    if (whole) settle_forks(log);
    return whole;
}

/* ---- what is asked after the check */

static int by_size(const void *a, const void *b) {
    uint64_t left = (*(Root *const *)a)->size, right = (*(Root *const *)b)->size;
    return (left > right) - (left < right);
}

void log_roots(Log *log, Root *roots, size_t count) {
    Root **sorted = allocated(calloc(count + 1, sizeof *sorted));
    Leaves leaves;
    Tree tree = {0};
    Damage none = {0};
    const uint8_t *hash = NULL;
    for (size_t i = 0; i < count; i++) sorted[i] = &roots[i];
    qsort(sorted, count, sizeof *sorted, by_size);
    leaves_open(&leaves, log->database);
    for (size_t i = 0; i < count; i++) {
        while (tree.size < sorted[i]->size && leaves_next(&leaves, &hash, &none) && hash != NULL)
            tree_add(&tree, hash);
        tree_root(&tree, sorted[i]->root);
    }
    sqlite3_finalize(leaves.rows);
    free(sorted);
}
