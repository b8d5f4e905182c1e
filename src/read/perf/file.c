/* SPDX-License-Identifier: Apache-2.0 */
#include "read/perf/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mapping.h"

static bool is_within(const struct perf_file *file, struct perf_section s)
{
	return s.offset <= file->size && s.size <= file->size - s.offset;
}

static struct perf_section section_at(const struct perf_file *file, const uint8_t *p)
{
	return (struct perf_section){ perf_u64(p, file->swap), perf_u64(p + 8, file->swap) };
}

/* The offset of an optional field of 8 bytes, or 0; advances *at if the field is present. */
static uint16_t offset_of(uint64_t sample, uint64_t bit, uint16_t *at)
{
	uint16_t offset = *at;

	if (!(sample & bit))
		return 0;
	*at += 8;
	return offset;
}

static struct perf_layout layout_of(uint64_t sample, bool has_end)
{
	struct perf_layout l = { 0 };
	uint16_t at = sizeof(struct perf_record), end = 8, id;

	l.id = offset_of(sample, PERF_HAS_IDENTIFIER, &at);
	offset_of(sample, PERF_HAS_IP, &at);
	l.tid = offset_of(sample, PERF_HAS_TID, &at);
	l.time = offset_of(sample, PERF_HAS_TIME, &at);
	offset_of(sample, PERF_HAS_ADDR, &at);
	id = offset_of(sample, PERF_HAS_ID, &at);
	l.id = l.id ?: id;
	offset_of(sample, PERF_HAS_STREAM, &at);
	l.cpu = offset_of(sample, PERF_HAS_CPU, &at);
	offset_of(sample, PERF_HAS_PERIOD, &at);
	l.fixed = at;
	if (!has_end)
		return l;
	l.trailer_id = offset_of(sample, PERF_HAS_IDENTIFIER, &end);
	l.trailer_cpu = offset_of(sample, PERF_HAS_CPU, &end);
	offset_of(sample, PERF_HAS_STREAM, &end);
	id = offset_of(sample, PERF_HAS_ID, &end);
	l.trailer_id = l.trailer_id ?: id;
	l.trailer_time = offset_of(sample, PERF_HAS_TIME, &end);
	l.trailer_tid = offset_of(sample, PERF_HAS_TID, &end);
	l.trailer_size = end - 8;
	return l;
}

/* On big-endian hosts, bit fields begin at the highest bit. */
static uint64_t flags_of(uint64_t raw, bool reversed)
{
	uint64_t flags = 0;

	if (!reversed)
		return raw;
	for (unsigned i = 0; i < 64; i++)
		flags |= (raw >> i & 1) << (63 - i);
	return flags;
}

static bool is_big_endian(const struct perf_file *file)
{
	return file->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
}

static void bind(struct perf_file *file, struct perf_attr *attr)
{
	if (file->has_formats && attr->type == PERF_TRACEPOINT && attr->config < KERNEL_FORMAT_IDS)
		attr->format = kernel_formats_find(&file->formats, attr->config);
}

/* Adds an attribute; size is at least PERF_ATTR_MIN. */
static void add_attr(struct perf_file *file, const uint8_t *p, size_t size)
{
	uint64_t sample = perf_u64(p + PERF_ATTR_SAMPLE, file->swap);
	uint64_t flags = flags_of(perf_u64(p + PERF_ATTR_FLAGS, file->swap), is_big_endian(file));
	bool has_clock = flags >> PERF_ATTR_USE_CLOCK & 1 && size >= PERF_ATTR_CLOCK + 4;
	struct perf_attr *attr = vec_push(&file->attrs);

	*attr = (struct perf_attr){
		.type = perf_u32(p + PERF_ATTR_TYPE, file->swap),
		.clock = has_clock ? (int32_t)perf_u32(p + PERF_ATTR_CLOCK, file->swap) : -1,
		.config = perf_u64(p + PERF_ATTR_CONFIG, file->swap),
		.sample = sample,
		.read = perf_u64(p + PERF_ATTR_READ, file->swap),
		.flags = flags,
		.layout = layout_of(sample, flags >> PERF_ATTR_ID_ALL & 1),
	};
	bind(file, attr);
}

/* Adds ids of the last attribute. */
static void add_ids(struct perf_file *file, const uint8_t *p, size_t size)
{
	for (size_t at = 0; at + 8 <= size; at += 8)
		*map_insert(&file->ids, perf_u64(p + at, file->swap)) = file->attrs.count;
}

static int bad_section(const struct perf_file *file, const char *what, struct perf_section s,
		       struct err *err)
{
	return err_set(err, -EBADMSG,
		       "'%s' is damaged: %s at offset %" PRIu64 " (%" PRIu64
		       " bytes) extend beyond its end",
		       file->name, what, s.offset, s.size);
}

static int read_attrs(struct perf_file *file, const struct perf_header *header, struct err *err)
{
	uint64_t size = header->attr_size, left = file->size;

	if (!is_within(file, header->attrs))
		return bad_section(file, "attributes", header->attrs, err);
	if (size < PERF_ATTR_MIN + sizeof(struct perf_section) || size > UINT16_MAX)
		return err_set(err, -EBADMSG, "'%s' is damaged: invalid attribute size %" PRIu64,
			       file->name, size);
	for (uint64_t at = 0; at + size <= header->attrs.size; at += size) {
		const uint8_t *p = file->data + header->attrs.offset + at;
		struct perf_section ids = section_at(file, p + size - sizeof(ids));

		/* ids do not overlap, so together they are smaller than the file */
		if (!is_within(file, ids) || ids.size > left)
			return bad_section(file, "ids", ids, err);
		left -= ids.size;
		add_attr(file, p, size - sizeof(ids));
		add_ids(file, file->data + ids.offset, ids.size);
	}
	return 0;
}

/* Sections are truncated at the end of the file; those that begin after it are ignored. */
static void read_features(struct perf_file *file, const struct perf_header *header)
{
	const size_t size = sizeof(struct perf_section);
	struct perf_section tracing = { 0 };
	uint64_t at = file->end;

	for (unsigned i = 0; i < PERF_FEATURES && file->size - at >= size; i++) {
		if (!(header->features[i / 64] >> i % 64 & 1))
			continue;

		struct perf_section s = section_at(file, file->data + at);

		at += size;
		if (s.offset > file->size)
			continue;
		if (s.size > file->size - s.offset)
			s.size = file->size - s.offset;
		if (i == PERF_FEATURE_TRACING)
			tracing = s;
		else
			perf_file_add_feature(file, i, file->data + s.offset, s.size);
	}
	/* last, because formats depend on the machine type */
	perf_file_add_feature(file, PERF_FEATURE_TRACING, file->data + tracing.offset,
			      tracing.size);
}

static int read_file(struct perf_file *file, const struct perf_header *header, struct err *err)
{
	int r = read_attrs(file, header, err);

	if (r < 0)
		return r;
	if (header->data.size == 0)
		return err_set(
			err, -EBADMSG,
			"'%s' is incomplete: perf was killed before it wrote the description "
			"of its events; stop perf with Ctrl-C",
			file->name);
	if (!is_within(file, header->data))
		return bad_section(file, "records", header->data, err);
	file->begin = header->data.offset;
	file->end = file->begin + header->data.size;
	read_features(file, header);
	if (file->attrs.count == 0)
		return err_set(err, -EBADMSG, "'%s' contains no events", file->name);
	return 0;
}

static struct perf_header header_of(const struct perf_file *file)
{
	struct perf_header header;
	uint64_t words[sizeof(header) / 8];

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = perf_u64(file->data + 8 * i, file->swap);
	memcpy(&header, words, sizeof(header));
	return header;
}

static int read_header(struct perf_file *file, struct err *err)
{
	uint64_t magic = file->size >= PERF_PIPE_HEADER ? perf_u64(file->data, false) : 0;
	uint64_t size;

	if (magic != PERF_MAGIC && magic != __builtin_bswap64(PERF_MAGIC))
		return err_set(err, -EBADMSG, "'%s' is not a perf.data file (bad magic)",
			       file->name);
	file->swap = magic != PERF_MAGIC;
	size = perf_u64(file->data + 8, file->swap);
	if (size == PERF_PIPE_HEADER) {
		file->is_pipe = true;
		file->begin = size;
		file->end = file->size;
		return 0;
	}
	if (size < sizeof(struct perf_header) || size > file->size)
		return err_set(err, -EBADMSG,
			       "'%s' is not a perf.data file: invalid header size %" PRIu64,
			       file->name, size);

	struct perf_header header = header_of(file);

	return read_file(file, &header, err);
}

int perf_file_open_memory(struct perf_file *file, const char *name, const void *data, size_t size,
			  struct err *err)
{
	*file = (struct perf_file){ .name = must_strdup(name), .data = data, .size = size };

	int r = read_header(file, err);

	if (r < 0)
		perf_file_done(file);
	return r;
}

int perf_file_open(struct perf_file *file, const char *path, struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, "cannot open '%s'", path);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return err_set(err, -EBADMSG, "'%s' is not a perf.data file", path);

	void *data = mapping_new(fd, st.st_size, PROT_READ, MAP_SHARED, path);

	if (!data)
		return err_errno(err, "cannot map '%s'", path);
	madvise(data, st.st_size, MADV_SEQUENTIAL);

	int r = perf_file_open_memory(file, path, data, st.st_size, err);

	if (r < 0)
		mapping_free(data, st.st_size);
	else
		file->mapped = true;
	return r;
}

void perf_file_done(struct perf_file *file)
{
	if (file->has_formats)
		kernel_formats_done(&file->formats);
	if (file->mapped)
		mapping_free((void *)file->data, file->size);
	vec_done(&file->attrs);
	map_done(&file->ids);
	free(file->about.command);
	free(file->name);
}

/* An attribute contains its size; ids follow it. */
static void add_attr_record(struct perf_file *file, const uint8_t *p, size_t size)
{
	if (size < PERF_ATTR_MIN)
		return;

	uint32_t attr_size = perf_u32(p + PERF_ATTR_SIZE, file->swap) ?: PERF_ATTR_MIN;

	if (attr_size < PERF_ATTR_MIN || attr_size > size)
		return;
	add_attr(file, p, attr_size);
	add_ids(file, p + attr_size, size - attr_size);
}

/* Only updates of names are used, not those of units and CPUs. */
static void add_update(struct perf_file *file, const uint8_t *p, size_t size)
{
	enum { UPDATE_NAME = 2, NAME_AT = 16 };

	if (size <= NAME_AT || perf_u64(p, file->swap) != UPDATE_NAME ||
	    !memchr(p + NAME_AT, '\0', size - NAME_AT))
		return;

	const uint64_t *found = map_find(&file->ids, perf_u64(p + 8, file->swap));

	if (found)
		file->attrs.items[*found - 1].name = (const char *)p + NAME_AT;
}

void perf_file_add_record(struct perf_file *file, const uint8_t *record, struct perf_record head)
{
	const uint8_t *p = record + sizeof(head);
	size_t size = head.size - sizeof(head);

	if (head.type == PERF_ATTR)
		add_attr_record(file, p, size);
	else if (head.type == PERF_UPDATE)
		add_update(file, p, size);
	else if (head.type == PERF_FEATURE && size >= 8)
		perf_file_add_feature(file, perf_u64(p, file->swap), p + 8, size - 8);
}

void perf_file_bind(struct perf_file *file)
{
	for (size_t i = 0; i < file->attrs.count; i++)
		bind(file, &file->attrs.items[i]);
}

const struct perf_attr *perf_file_attr(const struct perf_file *file, uint64_t id)
{
	const uint64_t *found = map_find(&file->ids, id);

	if (found)
		return &file->attrs.items[*found - 1];
	/* synthesized records have no id, and a single event needs none */
	return file->attrs.count == 1 || (file->attrs.count && !id) ? file->attrs.items : NULL;
}
