/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depth-first search with an array of nodes instead of recursion.  A node is visited once: count
 * the rows in which each letter can follow, look before (mine_before.c), and report the pattern if
 * it is closed.  Then its children are visited, one after the other.
 *
 * The number of rows in which a letter follows is the support of the child, and the rows are a
 * subset of those of the node: if the supports are equal, the sets are equal, and the node is not
 * closed.
 */
#include "analyse/mine_search.h"

#include "base/arena.h"

enum {
	PUSH_WORK = 4, /* of a mask word that is written, in words examined */
	BLOCK = 64,    /* rows after which infrequent letters are dropped */
	SAMPLE = 64,   /* rows that decide about the order of children */
};

static void search_done(struct mine_search *search)
{
	for (uint32_t i = 0; i < MINE_LONGEST; i++) {
		free(search->nodes[i].entries);
		free(search->nodes[i].ends);
	}
	free(search->begins);
	free(search->window);
}

static bool is_exhausted(const struct mine_search *search)
{
	return search->work > search->bounds->max_work ||
	       search->found->count >= search->bounds->max_patterns;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t node_memory(const struct mine_node *node)
{
	return node->entry_room * sizeof(*node->entries) + node->words_room * sizeof(*node->ends);
}

/* Makes room for the next node, which has at most as many rows as the one above. */
static struct mine_node *reserve_node(struct mine_search *search, size_t entries, size_t words)
{
	struct mine_node *node = &search->nodes[search->depth];

	if (entries > node->entry_room || words > node->words_room) {
		size_t before = node_memory(node);

		node->entry_room = larger(entries, node->entry_room);
		node->words_room = larger(words, node->words_room);
		free(node->entries);
		free(node->ends);
		node->entries = must_realloc(NULL, node->entry_room * sizeof(*node->entries));
		node->ends = must_realloc(NULL, node->words_room * sizeof(*node->ends));
		search->memory += node_memory(node) - before;
	}
	node->count = node->words = 0;
	node->support = 0;
	return node;
}

/* Adds a row whose ends were written behind those of the node, if there are any. */
static inline void add_row(struct mine_node *node, const struct mine_row *row, uint32_t row_index,
			   size_t parent, uint64_t any)
{
	if (!any)
		return;
	node->entries[node->count++] =
		(struct mine_entry){ row_index, (uint32_t)parent, (uint32_t)node->words };
	node->words += row->words;
	node->support += row->weight;
}

static void push_first(struct mine_search *search, uint32_t code)
{
	const struct mine_table *table = search->table;
	struct mine_node *node = reserve_node(search, table->row_count, table->words);

	for (uint32_t i = 0; i < table->row_count; i++) {
		const struct mine_row *row = &table->rows[i];
		const uint64_t *at = mine_occurrences(table, row, code);
		uint64_t any = 0;

		for (uint32_t k = 0; k < row->words; k++)
			any |= node->ends[node->words + k] = at[k];
		add_row(node, row, i, 0, any);
	}
	node->code = (uint8_t)code;
	search->work += PUSH_WORK * table->words;
	search->depth++;
}

static void push_child(struct mine_search *search, uint32_t code)
{
	const struct mine_table *table = search->table;
	const struct mine_node *above = &search->nodes[search->depth - 1];
	struct mine_node *node = reserve_node(search, above->count, above->words);

	for (size_t i = 0; i < above->count; i++) {
		const struct mine_row *row = &table->rows[above->entries[i].row];
		const uint64_t *at = mine_occurrences(table, row, code);
		const uint64_t *from = above->ends + above->entries[i].at;
		uint64_t *ends = node->ends + node->words, any = 0;

		if (row->words == 1) {
			any = ends[0] = mask_next_after(from[0], table->step) & at[0];
		} else {
			mask_after(from, row->words, table->step, ends);
			for (uint32_t k = 0; k < row->words; k++)
				any |= ends[k] &= at[k];
		}
		add_row(node, row, above->entries[i].row, i, any);
	}
	node->code = (uint8_t)code;
	search->work += PUSH_WORK * above->words;
	search->depth++;
}

/* Positions that can follow the ends of an entry. */
static const uint64_t *find_next(struct mine_search *search, const struct mine_node *node,
				 size_t entry, const struct mine_row *row)
{
	const uint64_t *ends = node->ends + node->entries[entry].at;

	if (row->words == 1)
		search->window[0] = mask_next_after(ends[0], search->table->step);
	else
		mask_after(ends, row->words, search->table->step, search->window);
	return search->window;
}

/* Letters that may follow in enough rows. */
struct followers {
	uint8_t codes[256];
	uint64_t misses[256]; /* by index: weight of the rows in which the letter cannot follow */
	uint32_t count;
};

static void count_misses(struct mine_search *search, const struct mine_node *node, size_t entry,
			 struct followers *followers)
{
	const struct mine_table *table = search->table;
	const struct mine_row *row = &table->rows[node->entries[entry].row];
	const uint64_t *next = find_next(search, node, entry, row);
	const uint64_t *at = mine_occurrences(table, row, 0);

	if (row->words == 1) {
		uint64_t window = next[0];

		for (uint32_t i = 0; i < followers->count; i++)
			followers->misses[i] +=
				window & at[followers->codes[i] * table->words] ? 0 : row->weight;
	} else {
		for (uint32_t i = 0; i < followers->count; i++)
			if (!mask_intersects(next, at + followers->codes[i] * table->words,
					     row->words))
				followers->misses[i] += row->weight;
	}
	search->work += (uint64_t)row->words * followers->count;
}

static void drop_infrequent(struct followers *followers, uint64_t max_misses)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < followers->count; i++) {
		if (followers->misses[i] > max_misses)
			continue;
		followers->codes[kept] = followers->codes[i];
		followers->misses[kept++] = followers->misses[i];
	}
	followers->count = kept;
}

/*
 * Finds the children, and returns whether one has the support of the node.  With a high minimum
 * support, most letters miss too many rows soon, and are not counted to the end.
 */
static bool find_children(struct mine_search *search, struct mine_node *node)
{
	struct followers followers = { .count = search->table->letter_count };
	bool is_extendable = false;

	for (uint32_t i = 0; i < followers.count; i++)
		followers.codes[i] = (uint8_t)i;
	for (size_t i = 0; i < node->count && followers.count; i++) {
		count_misses(search, node, i, &followers);
		if (i % BLOCK == BLOCK - 1 || i == node->count - 1)
			drop_infrequent(&followers, node->support - search->table->minimum);
	}
	for (uint32_t i = 0; i < followers.count; i++) {
		node->children[i] = followers.codes[i];
		is_extendable |= followers.misses[i] == 0;
	}
	node->child_count = followers.count;
	node->next_child = 0;
	return is_extendable;
}

/* The sum of the first positions of a letter after the node, over some rows. */
static uint64_t distance(struct mine_search *search, const struct mine_node *node, uint32_t code)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < node->count && i < SAMPLE; i++) {
		const struct mine_row *row = &search->table->rows[node->entries[i].row];
		const uint64_t *next = find_next(search, node, i, row);
		const uint64_t *at = mine_occurrences(search->table, row, code);

		for (uint32_t k = 0; k < row->words; k++)
			search->begins[k] = next[k] & at[k];
		sum += mask_first_from(search->begins, row->words, 0);
		search->work += row->words;
	}
	return sum;
}

/* Nearest first, so that a search that reaches its bounds has found long patterns. */
static void order_children(struct mine_search *search, struct mine_node *node)
{
	uint64_t distances[256];

	for (uint32_t i = 0; i < node->child_count; i++) {
		uint8_t code = node->children[i];
		uint64_t mine = distance(search, node, code);
		uint32_t k = i;

		for (; k > 0 && distances[k - 1] > mine; k--) {
			distances[k] = distances[k - 1];
			node->children[k] = node->children[k - 1];
		}
		distances[k] = mine;
		node->children[k] = code;
	}
}

static void report(struct mine_search *search)
{
	const struct mine_node *node = &search->nodes[search->depth - 1];
	const struct mine_table *table = search->table;
	struct mine_found *found = vec_push(search->found);

	*found = (struct mine_found){ .letters = arena_alloc(search->arena, search->depth),
				      .length = search->depth,
				      .support = node->support };
	for (uint32_t i = 0; i < search->depth; i++)
		found->letters[i] = table->letters[search->nodes[i].code];
	for (size_t i = 0; table->keys && i < node->count; i++)
		for (int k = 0; k < 2; k++)
			found->set[k] += table->keys[node->entries[i].row][k];
}

/* Finds the children of the deepest node; none if no descendant can be closed. */
static void visit(struct mine_search *search)
{
	struct mine_node *node = &search->nodes[search->depth - 1];
	bool is_extendable = find_children(search, node);
	struct mine_before before = mine_look_before(search, !is_extendable);

	if (before.is_pruned)
		node->child_count = 0;
	else if (!is_extendable && !before.is_extendable)
		report(search);
	if (node->child_count > 1)
		order_children(search, node);
}

/* Visits all nodes below the first. */
static void descend(struct mine_search *search)
{
	while (search->depth) {
		struct mine_node *node = &search->nodes[search->depth - 1];

		if (node->next_child == node->child_count) {
			search->depth--;
		} else if (is_exhausted(search)) {
			search->is_truncated = true;
			return;
		} else if (search->depth == MINE_LONGEST ||
			   search->memory > search->bounds->max_search_memory) {
			search->is_truncated = true;
			search->depth--;
		} else {
			push_child(search, node->children[node->next_child++]);
			visit(search);
		}
	}
}

bool mine_search_letter(const struct mine_table *table, const struct mine_options *bounds,
			uint32_t code, struct arena *arena, struct mine_list *found)
{
	_cleanup_(freep) struct mine_search *search = must_alloc(sizeof(*search));

	search->table = table;
	search->bounds = bounds;
	search->arena = arena;
	search->found = found;
	search->begins = must_alloc(table->most_words * sizeof(uint64_t));
	search->window = must_alloc(table->most_words * sizeof(uint64_t));
	push_first(search, code);
	visit(search);
	descend(search);
	search_done(search);
	return !search->is_truncated;
}
