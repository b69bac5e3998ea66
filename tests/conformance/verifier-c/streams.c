/* The last version of each stream: a hash table with open addressing. */
#include <stdlib.h>
#include <string.h>

#include "verifier.h"

static size_t hash_of(Bytes stream) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < stream.size; i++) hash = (hash ^ stream.data[i]) * 0x100000001b3;
    return (size_t)(hash ^ hash >> 32);
}

static Stream *slot_of(Streams *streams, Bytes stream) {
    size_t at = hash_of(stream) & (streams->capacity - 1);
    while (streams->slots[at].stream != NULL &&
           !same(stream, (Bytes){streams->slots[at].stream, streams->slots[at].size}))
        at = (at + 1) & (streams->capacity - 1);
    return &streams->slots[at];
}

static void grow(Streams *streams) {
    Streams larger = {.count = streams->count, .capacity = streams->capacity ? 2 * streams->capacity : 1024};
    larger.slots = allocated(calloc(larger.capacity, sizeof *larger.slots));
    for (size_t i = 0; i < streams->capacity; i++) {
        Stream *slot = &streams->slots[i];
        if (slot->stream != NULL) *slot_of(&larger, (Bytes){slot->stream, slot->size}) = *slot;
    }
    free(streams->slots);
    *streams = larger;
}

/* The last version of a stream, 0 for a new one. */
int64_t *version_of(Streams *streams, Bytes stream) {
    if (2 * streams->count >= streams->capacity) grow(streams);
    Stream *slot = slot_of(streams, stream);
    if (slot->stream == NULL) {
        slot->stream = allocated(malloc(stream.size + 1));
        memcpy(slot->stream, stream.data, stream.size);
        slot->size = stream.size;
        streams->count++;
    }
    return &slot->version;
}

void streams_free(Streams *streams) {
    for (size_t i = 0; i < streams->capacity; i++) free(streams->slots[i].stream);
    free(streams->slots);
}
