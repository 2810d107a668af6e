// SPDX-License-Identifier: GPL-2.0
/* The device under test, by the ioctls of device-mapper; and the tool. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "powercut.h"

#define DM_NAME	"powercut"
#define FUA_NAME	"powercut-fua"
#define DM_ROOM	16384

extern char **environ;
u32 block_sectors;
int dm_fua_fd = -1;

bool other_fast;
u32 nr_tiers;
u8 tier_dev[MAX_TIERS] = { FAST, SLOW, THIRD, FOURTH };
bool other_tiers, own_tiers, taken;

static int control = -1;
static u32 minor_nr;
static char table_line[1024], table_mode[32], table_policy[64], table_features[256];

void sleep_us(u32 us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000L };

	nanosleep(&ts, NULL);
}

static struct dm_ioctl *dm_new_named(const char *name)
{
	struct dm_ioctl *io = calloc(1, DM_ROOM);

	if (control < 0)
		control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (!io || control < 0)
		die("/dev/mapper/control: %s", strerror(errno));
	io->version[0] = DM_VERSION_MAJOR;
	io->data_size = DM_ROOM;
	io->data_start = sizeof(*io);
	strcpy(io->name, name);
	return io;
}

static struct dm_ioctl *dm_new(void)
{
	return dm_new_named(DM_NAME);
}

static int dm_do(struct dm_ioctl *io, unsigned long cmd)
{
	return ioctl(control, cmd, io) ? -errno : 0;
}

static int remove_named(const char *name)
{
	int r = 0, i;

	for (i = 0; i < 500; i++) {
		struct dm_ioctl *io = dm_new_named(name);

		r = dm_do(io, DM_DEV_REMOVE);
		free(io);
		if (r != -EBUSY)
			break;
		sleep_us(10000);
	}
	return r;
}

static int open_minor(u32 nr)
{
	char path[64];
	int fd = -1, i;

	snprintf(path, sizeof(path), "/dev/dm-%u", nr);
	for (i = 0; fd < 0 && i < 200; i++) {
		fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
		if (fd < 0)
			sleep_us(5000);
	}
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

/*
 * The kernel sends a flush after each write with RWF_DSYNC, which hides what FUA alone is good for.  So these
 * writes go through a dm-switch, a target that passes flushes on to nobody.  Beside it in the table is a
 * device with a write cache, POWERCUT_CACHE, or device-mapper would take FUA off, too.
 */
void dm_fua_open(void)
{
	const char *cache = getenv("POWERCUT_CACHE");
	struct dm_ioctl *io;
	struct dm_target_spec *spec;
	u32 nr;
	int r;

	if (!cache)
		return;
	io = dm_new_named(FUA_NAME);
	r = dm_do(io, DM_DEV_CREATE);
	nr = minor(io->dev);
	free(io);
	if (r)
		die(FUA_NAME ": %s", strerror(-r));
	io = dm_new_named(FUA_NAME);
	io->target_count = 2;
	spec = (void *)((char *)io + io->data_start);
	spec->length = nr_sectors;
	strcpy(spec->target_type, "switch");
	snprintf((char *)(spec + 1), 128, "1 1048576 0 /dev/dm-%u 0", minor_nr);
	spec->next = sizeof(*spec) + 128;
	spec = (void *)((char *)spec + spec->next);
	spec->sector_start = nr_sectors;
	spec->length = 8;
	strcpy(spec->target_type, "linear");
	snprintf((char *)(spec + 1), 128, "%s 0", cache);
	r = dm_do(io, DM_TABLE_LOAD);
	free(io);
	io = dm_new_named(FUA_NAME);
	r = r ? r : dm_do(io, DM_DEV_SUSPEND);
	free(io);
	if (r)
		die(FUA_NAME ": %s", strerror(-r));
	dm_fua_fd = open_minor(nr);
}

int dm_remove(void)
{
	if (dm_fua_fd >= 0) {
		close(dm_fua_fd);
		dm_fua_fd = -1;
		remove_named(FUA_NAME);
	}
	return remove_named(DM_NAME);
}

/* these devices, by their numbers but for the metadata device, are the tiers from now on, fastest first */
void set_tiers(const char *order)
{
	for (nr_tiers = 0; order[nr_tiers]; nr_tiers++)
		tier_dev[nr_tiers] = order[nr_tiers] - '0' + (order[nr_tiers] >= '0' + META);
}

static void make_table_line(void)
{
	u32 words = 1 + other_fast + other_tiers, i;
	char more[200] = "";
	const char *p;

	for (i = 2; i < nr_tiers; i++, words += 2)
		snprintf(more + strlen(more), sizeof(more) - strlen(more), "tier_dev %s ", dev_paths[tier_dev[i]]);
	for (p = table_features; *p; p++)
		words += *p != ' ' && (p == table_features || p[-1] == ' ');
	snprintf(table_line, sizeof(table_line), "%s %s %s %u %u %s %s%s%s%s %s", dev_paths[tier_dev[0]],
		 dev_paths[tier_dev[1]], dev_paths[META], block_sectors, words, table_mode, more,
		 other_fast ? "accept_new_fast " : "", other_tiers ? "accept_new_tier " : "", table_features,
		 table_policy);
}

/* put a table like that of the last dm_create() into the device's second place */
static int load_table(void)
{
	struct dm_ioctl *io = dm_new();
	struct dm_target_spec *spec = (void *)((char *)io + io->data_start);
	int r;

	make_table_line();
	spec->length = nr_sectors;
	strcpy(spec->target_type, "tier");
	strcpy((char *)(spec + 1), table_line);
	io->target_count = 1;
	r = dm_do(io, DM_TABLE_LOAD);
	free(io);
	return r;
}

static int suspend_or_resume(u32 flags)
{
	struct dm_ioctl *io = dm_new();
	int r;

	io->flags = flags;
	r = dm_do(io, DM_DEV_SUSPEND);
	free(io);
	return r;
}

int dm_create(const char *mode, const char *policy, const char *features)
{
	struct dm_ioctl *io = dm_new();
	int r;

	snprintf(table_mode, sizeof(table_mode), "%s", mode);
	snprintf(table_policy, sizeof(table_policy), "%s", policy);
	snprintf(table_features, sizeof(table_features), "%s", features);
	r = dm_do(io, DM_DEV_CREATE);
	minor_nr = r ? minor_nr : minor(io->dev);
	free(io);
	if (r)
		return r;
	r = load_table();
	if (!r)
		r = suspend_or_resume(0);
	if (r)
		dm_remove();
	return r;
}

/* the same table anew; something happens while the device is suspended */
int dm_reload(void (*between)(void))
{
	int r = load_table();

	if (!r)
		r = suspend_or_resume(DM_SUSPEND_FLAG);
	if (r)
		return r;
	if (between)
		between();
	return suspend_or_resume(0);
}

int dm_open(void)
{
	return open_minor(minor_nr);
}

int dm_message(const char *text)
{
	struct dm_ioctl *io = dm_new();
	struct dm_target_msg *msg = (void *)((char *)io + io->data_start);
	int r;

	strcpy(msg->message, text);
	r = dm_do(io, DM_TARGET_MSG);
	free(io);
	return r;
}

bool dm_status(char *text, size_t size)
{
	struct dm_ioctl *io = dm_new();
	struct dm_target_spec *spec;
	int r;

	io->flags = DM_NOFLUSH_FLAG;
	r = dm_do(io, DM_TABLE_STATUS);
	if (!r) {
		spec = (void *)((char *)io + io->data_start);
		snprintf(text, size, "%s", (char *)(spec + 1));
	}
	free(io);
	return !r;
}

/* a field of the status by its name */
bool dm_status_word(const char *key, char *value, size_t size)
{
	static const char * const fixed[] = {
		"health", "check", "settled", "mode", "block", "granule", "used", "free", "dirty_slots", "dirty", "journal",
	};
	char text[4096], *word, *save = NULL;
	bool next = false;
	u32 i = 0;

	if (!dm_status(text, sizeof(text)))
		return false;
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save), i++) {
		if (next || (i < sizeof(fixed) / sizeof(fixed[0]) && !strcmp(fixed[i], key))) {
			snprintf(value, size, "%s", word);
			return true;
		}
		next = i > 11 && !strcmp(word, key);
	}
	return false;
}

/* words of a tier in the status */
#define TIER_WORDS	11

/**
 * dm_tier_word() - a number that the status has of a tier
 * @tier: which
 * @i: 0 slots, 1 used, 2 reads, 3 writes, 4 landings, 5 moves to it, 6 moves from it, 7 pinned, 8 errors
 * @value: result
 */
bool dm_tier_word(u32 tier, u32 i, u64 *value)
{
	char text[4096], *at;
	unsigned int n;

	if (!dm_status(text, sizeof(text)))
		return false;
	at = strstr(text, " tiers ");
	if (!at)
		return false;
	/* behind the word itself and their number */
	for (n = 2 + tier * TIER_WORDS + i, at++; at && n; n--)
		at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL;
	if (!at)
		return false;
	*value = strtoull(at, NULL, 10);
	return true;
}

/* blocks that were moved since the device was started */
u64 dm_moves(void)
{
	u64 n, sum = 0;
	u32 i;

	for (i = 0; i < nr_tiers; i++)
		if (dm_tier_word(i, 5, &n))
			sum += n;
	return sum;
}

/* until all moves that were asked for are committed, and each slot of the tiers is either in use or free */
bool dm_wait_moves(u32 ms)
{
	char jobs[32], used[32], nr_free[32];
	u32 waited, i;

	for (waited = 0; waited < ms; waited += 10) {
		u64 slots = 0, n;

		for (i = 0; i < nr_tiers && dm_tier_word(i, 0, &n); i++)
			slots += n;
		if (dm_status_word("jobs", jobs, sizeof(jobs)) && !strcmp(jobs, "0") &&
		    dm_status_word("used", used, sizeof(used)) && dm_status_word("free", nr_free, sizeof(nr_free)) &&
		    strtoull(used, NULL, 10) + strtoull(nr_free, NULL, 10) == slots)
			return true;
		sleep_us(10000);
	}
	return false;
}

bool dm_wait(const char *key, const char *value, u32 ms)
{
	char got[64];
	u32 waited;

	for (waited = 0; waited < ms; waited += 10) {
		if (dm_status_word(key, got, sizeof(got)) && !strcmp(got, value))
			return true;
		sleep_us(10000);
	}
	return false;
}

int dmtier_run(const char *verb, const char *option)
{
	const char *tool = getenv("DMTIER");
	const char *argv[16];
	posix_spawn_file_actions_t fa;
	u32 i;
	int n = 0, status;
	pid_t pid;
	char *word, *save = NULL, copy[256];

	argv[n++] = tool ? tool : "dmtier";
	argv[n++] = verb;
	snprintf(copy, sizeof(copy), "%s", option);
	for (word = strtok_r(copy, " ", &save); word && n < 10; word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	argv[n++] = dev_paths[tier_dev[0]];
	argv[n++] = dev_paths[tier_dev[1]];
	argv[n++] = dev_paths[META];
	for (i = 2; i < nr_tiers; i++)
		argv[n++] = dev_paths[tier_dev[i]];
	argv[n] = NULL;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 1, "/tmp/dmtier.out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_adddup2(&fa, 1, 2);
	if (posix_spawnp(&pid, argv[0], &fa, NULL, (char **)argv, environ))
		die("can't run %s", argv[0]);
	posix_spawn_file_actions_destroy(&fa);
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}
