/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints: events/tier in tracefs.  Sectors are 512 bytes, on the tier device. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tier

#if !defined(TIER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TIER_TRACE_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(tier_range,
	TP_PROTO(const char *name, u64 sector, u32 sectors),
	TP_ARGS(name, sector, sectors),
	TP_STRUCT__entry(
		__string(name, name)
		__field(u64, sector)
		__field(u32, sectors)
	),
	TP_fast_assign(
		tier_assign_str(name, name);
		__entry->sector = sector;
		__entry->sectors = sectors;
	),
	TP_printk("%s sector %llu + %u", __get_str(name), __entry->sector, __entry->sectors)
);

DEFINE_EVENT(tier_range, tier_promote,
	TP_PROTO(const char *name, u64 sector, u32 sectors), TP_ARGS(name, sector, sectors));
DEFINE_EVENT(tier_range, tier_demote,
	TP_PROTO(const char *name, u64 sector, u32 sectors), TP_ARGS(name, sector, sectors));
DEFINE_EVENT(tier_range, tier_write_back,
	TP_PROTO(const char *name, u64 sector, u32 sectors), TP_ARGS(name, sector, sectors));

TRACE_EVENT(tier_hit,
	TP_PROTO(const char *name, u64 sector, u32 sectors, bool write),
	TP_ARGS(name, sector, sectors, write),
	TP_STRUCT__entry(
		__string(name, name)
		__field(u64, sector)
		__field(u32, sectors)
		__field(bool, write)
	),
	TP_fast_assign(
		tier_assign_str(name, name);
		__entry->sector = sector;
		__entry->sectors = sectors;
		__entry->write = write;
	),
	TP_printk("%s %c sector %llu + %u", __get_str(name), __entry->write ? 'W' : 'R', __entry->sector,
		  __entry->sectors)
);

/* admit: 0 bypass, 1 sequential, 2 populate, 3 fill, 4 promote (only if the policy was asked) */
TRACE_EVENT(tier_miss,
	TP_PROTO(const char *name, u64 sector, u32 sectors, bool write, u32 admit),
	TP_ARGS(name, sector, sectors, write, admit),
	TP_STRUCT__entry(
		__string(name, name)
		__field(u64, sector)
		__field(u32, sectors)
		__field(bool, write)
		__field(u32, admit)
	),
	TP_fast_assign(
		tier_assign_str(name, name);
		__entry->sector = sector;
		__entry->sectors = sectors;
		__entry->write = write;
		__entry->admit = admit;
	),
	TP_printk("%s %c sector %llu + %u admit %u", __get_str(name), __entry->write ? 'W' : 'R',
		  __entry->sector, __entry->sectors, __entry->admit)
);

TRACE_EVENT(tier_commit,
	TP_PROTO(const char *name, u32 slots),
	TP_ARGS(name, slots),
	TP_STRUCT__entry(
		__string(name, name)
		__field(u32, slots)
	),
	TP_fast_assign(
		tier_assign_str(name, name);
		__entry->slots = slots;
	),
	TP_printk("%s slots %u", __get_str(name), __entry->slots)
);

/* numbers as in enum tier_mode */
TRACE_EVENT(tier_mode,
	TP_PROTO(const char *name, u32 from, u32 to),
	TP_ARGS(name, from, to),
	TP_STRUCT__entry(
		__string(name, name)
		__field(u32, from)
		__field(u32, to)
	),
	TP_fast_assign(
		tier_assign_str(name, name);
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("%s from %u to %u", __get_str(name), __entry->from, __entry->to)
);

/* numbers as in enum tier_health */
TRACE_EVENT(tier_health,
	TP_PROTO(const char *name, u32 from, u32 to),
	TP_ARGS(name, from, to),
	TP_STRUCT__entry(
		__string(name, name)
		__field(u32, from)
		__field(u32, to)
	),
	TP_fast_assign(
		tier_assign_str(name, name);
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("%s from %u to %u", __get_str(name), __entry->from, __entry->to)
);

#endif /* TIER_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE tier-trace
#include <trace/define_trace.h>
