// SPDX-License-Identifier: GPL-2.0
/* Policy registry, and the policy (a chain of filters and one policy) of a target. */
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "tier.h"
#include "tier-policy-builtin.h"

#define MAX_CHAIN	4	/* filters and the policy */

static char *default_policy = "clock2q";
module_param(default_policy, charp, 0444);
MODULE_PARM_DESC(default_policy, "policy that the name \"default\" stands for (clock2q)");

static DEFINE_MUTEX(registry_lock);	/* guards registry */
static LIST_HEAD(registry);

/* policies that come with this version: their module may be missing at boot */
static const char * const known_policies[] = { "lru", "hotspot", "seqbypass", "clock2q" };

static struct tier_policy_type *__find_type(const char *name)
{
	struct tier_policy_type *type;

	lockdep_assert_held(&registry_lock);
	list_for_each_entry(type, &registry, list)
		if (!strcmp(type->name, name))
			return type;
	return NULL;
}

/**
 * tier_policy_register() - make a kind of policy known
 * @type: stays valid until unregistered
 *
 * Context: may sleep.
 * Return: 0, -EEXIST, or -EINVAL for a type with a missing operation.
 */
int tier_policy_register(struct tier_policy_type *type)
{
	int r = 0;

	if (!type->name || strlen(type->name) >= TIER_POLICY_NAME_LEN || !type->memory || !type->create ||
	    !type->destroy || !type->hit || !type->miss || !type->inserted || !type->removed || !type->aborted ||
	    !type->victim || !type->victim_kept || !type->save_hint || !type->load_hint || !type->set || !type->emit)
		return -EINVAL;
	mutex_lock(&registry_lock);
	if (__find_type(type->name))
		r = -EEXIST;
	else
		list_add_tail(&type->list, &registry);
	mutex_unlock(&registry_lock);
	return r;
}
EXPORT_SYMBOL_GPL(tier_policy_register);

/**
 * tier_policy_unregister() - forget a kind of policy; no target uses it (they hold its module)
 * @type: registered
 *
 * Context: may sleep.
 */
void tier_policy_unregister(struct tier_policy_type *type)
{
	mutex_lock(&registry_lock);
	list_del(&type->list);
	mutex_unlock(&registry_lock);
}
EXPORT_SYMBOL_GPL(tier_policy_unregister);

static struct tier_policy_type *try_get_type(const char *name)
{
	struct tier_policy_type *type;

	mutex_lock(&registry_lock);
	type = __find_type(name);
	if (type && !try_module_get(type->owner))
		type = NULL;
	mutex_unlock(&registry_lock);
	return type;
}

/* a kind of policy with a reference on its module, loaded if need be and @load; NULL: not to be had */
static struct tier_policy_type *get_type(const char *name, bool load)
{
	struct tier_policy_type *type;

	if (!strcmp(name, "default"))
		name = default_policy;
	type = try_get_type(name);
	if (!type && load && strlen(name) < TIER_POLICY_NAME_LEN) {
		request_module("dm-tier-%s", name);
		type = try_get_type(name);
	}
	return type;
}

static bool is_known(const char *name)
{
	size_t i;

	if (!strcmp(name, "default"))
		return true;
	for (i = 0; i < ARRAY_SIZE(known_policies); i++)
		if (!strcmp(name, known_policies[i]))
			return true;
	return false;
}

static void unknown_policy(const char *name, char *error)
{
	struct tier_policy_type *type;
	size_t i, len;

	if (is_known(name)) {
		scnprintf(error, TIER_ERROR_LEN, "policy \"%.32s\": its module dm-tier-%.32s can't be loaded", name,
			  name);
		return;
	}
	len = scnprintf(error, TIER_ERROR_LEN, "unknown policy \"%.32s\"; available: default", name);
	for (i = 0; i < ARRAY_SIZE(known_policies); i++)
		len += scnprintf(error + len, TIER_ERROR_LEN - len, ", %s", known_policies[i]);
	mutex_lock(&registry_lock);
	list_for_each_entry(type, &registry, list)
		if (!is_known(type->name))
			len += scnprintf(error + len, TIER_ERROR_LEN - len, ", %s", type->name);
	mutex_unlock(&registry_lock);
}

static void free_chain(struct tier_policy *p)
{
	while (p) {
		struct tier_policy *next = p->next;
		struct module *owner = p->type->owner;

		p->type->destroy(p);
		module_put(owner);
		p = next;
	}
}

/* the keys of a policy's tunables behind what @buf holds already, as "key, key" */
static void add_keys(const struct tier_policy *p, char *buf, size_t size, bool *any)
{
	const char *help = p->type->tunables_help;
	size_t used = strlen(buf);

	while (help && *help) {
		used += scnprintf(buf + used, size - used, "%s%.*s", *any ? ", " : "", (int)strcspn(help, ":\n"),
				  help);
		*any = true;
		help += strcspn(help, "\n");
		help += *help == '\n';
	}
}

/**
 * tier_policy_add_keys() - end a sentence with the tunables that a policy has
 * @p: the policy, or the first of a chain
 * @chain: also those of the policies it wraps
 * @error: TIER_ERROR_LEN bytes: the sentence
 */
void tier_policy_add_keys(const struct tier_policy *p, bool chain, char *error)
{
	bool any = false;

	for (; p; p = chain ? p->next : NULL)
		add_keys(p, error, TIER_ERROR_LEN, &any);
	if (!any)
		scnprintf(error + strlen(error), TIER_ERROR_LEN - strlen(error), "none");
}

/* length of the line that begins with a tunable's name; NULL: there is none */
static const char *help_line(const char *help, const char *key, int *len)
{
	size_t n = strlen(key);

	for (; help && *help; help += *len + (help[*len] == '\n')) {
		*len = strcspn(help, "\n");
		if (!strncmp(help, key, n) && help[n] == ':')
			return help;
	}
	return NULL;
}

/**
 * tier_policy_bad_value() - sentence about a tunable's value
 * @p: policy, or the first of a chain, that refuses the value
 * @key: the tunable
 * @value: the value
 * @error: TIER_ERROR_LEN bytes
 */
void tier_policy_bad_value(const struct tier_policy *p, const char *key, const char *value, char *error)
{
	const char *line = NULL;
	int len = 0;

	for (; p && !line; p = p->next)
		line = help_line(p->type->tunables_help, key, &len);
	scnprintf(error, TIER_ERROR_LEN, "bad value \"%.32s\" of \"%.32s\"%s%.*s", value, key,
		  line ? "; " : "", line ? len : 0, line ?: "");
}

static int set_arg(struct tier_policy *p, const char *key, const char *value, char *error)
{
	int r = p->type->set(p, key, value);

	if (r == -ENOENT) {
		scnprintf(error, TIER_ERROR_LEN, "policy %s has no tunable \"%.32s\"; it has ", p->type->name, key);
		tier_policy_add_keys(p, false, error);
	} else if (r) {
		tier_policy_bad_value(p, key, value, error);
	}
	return r ? -EINVAL : 0;
}

/**
 * struct making - how a chain is made
 * @params: for the policies
 * @load: modules may be loaded
 * @fallback: the built-in policy may stand in for one of this version whose module can't be had
 * @device: for the log
 * @error: TIER_ERROR_LEN bytes
 */
struct making {
	struct tier_policy_params params;
	bool load;
	bool fallback;
	const char *device;
	char *error;
};

/*
 * Make a chain from words: NAME [KEY VALUE]... [next NAME [KEY VALUE]...].  A filter without "next" wraps
 * the default policy.
 */
static struct tier_policy *make_chain(const struct making *m, unsigned int argc, char **argv, unsigned int depth)
{
	struct tier_policy_type *type;
	struct tier_policy *p, *next = NULL;
	unsigned int i, own;
	char default_name[] = "default";
	char *default_argv[1] = { default_name };
	char *error = m->error;
	bool fell_back = false;
	int r = -EINVAL;

	if (depth >= MAX_CHAIN) {
		scnprintf(error, TIER_ERROR_LEN, "more than %d policies in a chain", MAX_CHAIN);
		return ERR_PTR(-EINVAL);
	}
	for (own = 1; own < argc && strcmp(argv[own], "next"); own += 2)
		if (own + 1 == argc) {
			scnprintf(error, TIER_ERROR_LEN, "policy %.32s: \"%.32s\" has no value", argv[0], argv[own]);
			return ERR_PTR(-EINVAL);
		}
	type = get_type(argv[0], m->load);
	if (!type && m->fallback && is_known(argv[0])) {
		DMWARN("%s: policy %s: module dm-tier-%s can't be loaded, the built-in policy is used", m->device,
		       argv[0], strcmp(argv[0], "default") ? argv[0] : default_policy);
		type = get_type("builtin", false);
		fell_back = true;
	}
	if (!type) {
		unknown_policy(argv[0], error);
		return ERR_PTR(-EINVAL);
	}
	if (fell_back) {	/* the arguments are those of the other */
		argc = 1;
		own = 1;
	}
	if (own < argc && !type->filter) {
		scnprintf(error, TIER_ERROR_LEN, "policy %s is no filter: \"next\" can't follow", type->name);
		goto put;
	}
	if (own + 1 == argc) {
		scnprintf(error, TIER_ERROR_LEN, "policy %s: a policy's name must follow \"next\"", type->name);
		goto put;
	}
	if (type->filter) {
		next = own < argc ? make_chain(m, argc - own - 1, argv + own + 1, depth + 1) :
				    make_chain(m, 1, default_argv, depth + 1);
		if (IS_ERR(next)) {
			module_put(type->owner);
			return next;
		}
	}
	p = type->create(&m->params, next);
	if (IS_ERR(p)) {
		scnprintf(error, TIER_ERROR_LEN, "policy %s can't be made: error %ld", type->name, PTR_ERR(p));
		r = PTR_ERR(p);
		goto free_next;
	}
	p->type = type;
	p->next = next;
	for (i = 1; i < own; i += 2)
		if (set_arg(p, argv[i], argv[i + 1], error)) {
			free_chain(p);
			return ERR_PTR(-EINVAL);
		}
	return p;
free_next:
	free_chain(next);
put:
	module_put(type->owner);
	return ERR_PTR(r);
}

static void free_words(struct tier_policy_words *w)
{
	kfree(w->argv);
	kfree(w->text);
	memset(w, 0, sizeof(*w));
}

static int copy_words(struct tier_policy_words *w, unsigned int argc, char **argv)
{
	size_t len = 0;
	unsigned int i;
	char *p;

	for (i = 0; i < argc; i++)
		len += strlen(argv[i]) + 1;
	w->argc = argc;
	w->argv = kcalloc(argc, sizeof(*w->argv), GFP_KERNEL);
	w->text = kmalloc(len, GFP_KERNEL);
	if (!w->argv || !w->text) {
		free_words(w);
		return -ENOMEM;
	}
	for (i = 0, p = w->text; i < argc; p += strlen(p) + 1, i++)
		w->argv[i] = strcpy(p, argv[i]);
	return 0;
}

/* a policy for one slot: it is never used, but its words were good, and it holds the modules */
static struct tier_policy *make_sample(struct tier *t, unsigned int argc, char **argv, bool fallback, char *error)
{
	struct making m = {
		.params = { .nr_slots = 1, .nr_blocks = 1, .block_sectors = t->block_sectors },
		.load = true,
		.fallback = fallback,
		.device = t->name,
		.error = error,
	};

	return make_chain(&m, argc, argv, 0);
}

static struct tier_policy *make_policy(struct tier *t, unsigned int argc, char **argv, bool fallback, char *error)
{
	struct making m = {
		.params = {
			.nr_slots = t->map.nr_slots,
			.nr_blocks = t->g.nr_blocks,
			.block_sectors = t->g.block_sectors,
			.seed = 1,
			.now = tier_now(),
		},
		.fallback = fallback,
		.device = t->name,
		.error = error,
	};

	return make_chain(&m, argc, argv, 0);
}

/**
 * tier_policy_choose() - check the words of the table line, and keep them
 * @t: being constructed
 * @argc: words
 * @argv: name and arguments
 * @error: TIER_ERROR_LEN bytes
 *
 * Loads modules now, so that resuming a device (the root file system's, maybe) never has to.  A policy of
 * this version whose module is missing passes, with a warning.
 * Context: may sleep.
 * Return: 0 or an error.
 */
int tier_policy_choose(struct tier *t, unsigned int argc, char **argv, char *error)
{
	struct tier_policy *p = make_sample(t, argc, argv, true, error);
	int r;

	if (IS_ERR(p))
		return PTR_ERR(p);
	t->policy_sample = p;
	r = copy_words(&t->policy_words, argc, argv);
	if (r)
		scnprintf(error, TIER_ERROR_LEN, "not enough memory");
	return r;
}

void tier_policy_forget(struct tier *t)
{
	free_chain(t->policy_sample);
	t->policy_sample = NULL;
	free_words(&t->policy_words);
}

/**
 * tier_policy_start() - make the policy that was chosen
 * @t: with its mapping set up, empty
 * @error: TIER_ERROR_LEN bytes
 *
 * Context: may sleep, loads no module.
 * Return: 0 or an error.
 */
int tier_policy_start(struct tier *t, char *error)
{
	struct tier_policy *p = make_policy(t, t->policy_words.argc, t->policy_words.argv, true, error);

	if (IS_ERR(p))
		return PTR_ERR(p);
	t->policy = p;
	return 0;
}

/* tell a policy of all that is resident; nobody else uses it yet */
void tier_policy_load(struct tier *t)
{
	u32 i;

	lockdep_assert_held(&t->life_mutex);
	for (i = 0; i < t->map.nr_slots; i++) {
		tier_slot_t slot = tier_to_slot(i);
		u32 flags = tier_slot_flags(&t->map, slot);

		if (flags & TIER_SLOT_MAPPED)
			t->policy->type->load_hint(t->policy, tier_slot_block(&t->map, slot), slot, 0);
		if (!(i % 1024))
			cond_resched();
	}
}

/**
 * tier_policy_switch() - another policy, or the same with other arguments; the mapping stays
 * @t: live
 * @argc: words
 * @argv: name and arguments
 * @error: TIER_ERROR_LEN bytes
 *
 * I/O waits while the new policy is told of the resident blocks (microseconds a block).
 * Context: may sleep, loads modules.
 * Return: 0 or an error; then the old one stays.
 */
int tier_policy_switch(struct tier *t, unsigned int argc, char **argv, char *error)
{
	struct tier_policy_words words;
	struct tier_policy *sample, *p;
	int r;

	lockdep_assert_held(&t->life_mutex);
	sample = make_sample(t, argc, argv, false, error);
	if (IS_ERR(sample))
		return PTR_ERR(sample);
	p = make_policy(t, argc, argv, false, error);
	if (IS_ERR(p)) {
		free_chain(sample);
		return PTR_ERR(p);
	}
	r = copy_words(&words, argc, argv);
	if (r) {
		free_chain(sample);
		free_chain(p);
		return r;
	}
	percpu_down_write(&t->config_sem);
	swap(t->policy, p);
	tier_policy_load(t);
	percpu_up_write(&t->config_sem);
	swap(t->policy_sample, sample);
	swap(t->policy_words, words);
	free_chain(p);
	free_chain(sample);
	free_words(&words);
	return 0;
}

void tier_policy_stop(struct tier *t)
{
	free_chain(t->policy);
	t->policy = NULL;
}

/* the policy that ranks: hints belong to it */
struct tier_policy *tier_policy_ranking(struct tier *t)
{
	struct tier_policy *p = t->policy;

	lockdep_assert_held(&t->life_mutex);
	while (p->next)
		p = p->next;
	return p;
}

/* "<name> <#words> <words>" */
int tier_policy_emit(struct tier *t, char *buf, size_t size)
{
	unsigned int count = 0;
	char words[512];

	lockdep_assert_held(&t->life_mutex);
	words[0] = '\0';
	t->policy->type->emit(t->policy, words, sizeof(words), &count);
	return scnprintf(buf, size, "%s %u%s%s", t->policy->type->name, count, *words ? " " : "", words);
}
