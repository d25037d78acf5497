#include "data/word_table.h"

#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/memory.h"

enum { FIRST_SLOTS = 1024 };

static uint32_t hash_of(const char *word, size_t length)
{
    return (uint32_t)(hash_secret(word, length) >> 32);
}

const char *word_table_word(const word_table *table, int32_t number)
{
    return table->bytes + table->start[number];
}

size_t word_table_length(const word_table *table, int32_t number)
{
    const size_t next = (size_t)number + 1;
    const size_t end = next < table->count ? table->start[next] : table->bytes_used;
    return end - table->start[number] - 1;
}

/* The slot that holds the word, or the free one where it belongs; the table has slots. */
static size_t find_slot(const word_table *table, uint32_t hash, const char *word, size_t length)
{
    const size_t mask = table->slot_count - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
        const word_slot *slot = &table->slots[at];
        if (slot->entry == 0) {
            return at;
        }
        const int32_t number = (int32_t)(slot->entry - 1);
        if (slot->hash == hash && word_table_length(table, number) == length &&
            memcmp(word_table_word(table, number), word, length) == 0) {
            return at;
        }
    }
}

int32_t word_table_find(const word_table *table, const char *word, size_t length)
{
    if (table->slot_count == 0) {
        return -1;
    }
    return (int32_t)table->slots[find_slot(table, hash_of(word, length), word, length)].entry - 1;
}

static nmt_status grow_slots(word_table *table, nmt_error *error)
{
    const size_t slot_count = table->slot_count > 0 ? 2 * table->slot_count : FIRST_SLOTS;
    const size_t mask = slot_count - 1;
    word_slot *slots;
    TRY(memory_new(&slots, slot_count, sizeof *slots, "a table of words", error));
    for (size_t old = 0; old < table->slot_count; old++) {
        if (table->slots[old].entry != 0) {
            size_t at = table->slots[old].hash & mask;
            while (slots[at].entry != 0) {
                at = (at + 1) & mask;
            }
            slots[at] = table->slots[old];
        }
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
    return NMT_OK;
}

static nmt_status append(word_table *table, const char *word, size_t length, nmt_error *error)
{
    if (table->count >= INT32_MAX / 2) {
        return error_set(error, NMT_INVALID, "more than %zu different words", table->count);
    }
    TRY(memory_grow(&table->start, &table->start_capacity, table->count + 1, sizeof *table->start, "a table of words",
                    error));
    TRY(memory_grow(&table->bytes, &table->bytes_capacity, table->bytes_used + length + 1, 1, "a table of words",
                    error));
    memcpy(table->bytes + table->bytes_used, word, length);
    table->bytes[table->bytes_used + length] = '\0';
    table->start[table->count++] = table->bytes_used;
    table->bytes_used += length + 1;
    return NMT_OK;
}

nmt_status word_table_add(word_table *table, const char *word, size_t length, int32_t *number, nmt_error *error)
{
    if (2 * (table->count + 1) > table->slot_count) {
        TRY(grow_slots(table, error));
    }
    const uint32_t hash = hash_of(word, length);
    word_slot *slot = &table->slots[find_slot(table, hash, word, length)];
    if (slot->entry == 0) {
        TRY(append(table, word, length, error));
        slot->hash = hash;
        slot->entry = (uint32_t)table->count;
    }
    *number = (int32_t)(slot->entry - 1);
    return NMT_OK;
}

void word_table_free(word_table *table)
{
    free(table->bytes);
    free(table->start);
    free(table->slots);
    memset(table, 0, sizeof *table);
}
