/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TIER_MODEL_H
#define TIER_MODEL_H

#include "search.h"

/* which configurations to search */
enum model_size {
	MODEL_SMALL,	/* seconds in all */
	MODEL_BIG,	/* minutes in all */
};

/**
 * struct model - a model, its configurations and its mutants
 * @name: name
 * @nr_configs: number of configurations
 * @config_name: name of one
 * @config_size: what it is part of
 * @mutants: names, ended by NULL
 * @mutant_config: the configuration that is to catch a mutant
 * @run: search a configuration; @mutant: number of a mutant, or -1
 */
struct model {
	const char *name;
	u32 nr_configs;
	const char *(*config_name)(u32 config);
	enum model_size (*config_size)(u32 config);
	const char *const *mutants;
	u32 (*mutant_config)(u32 mutant);
	struct search_result (*run)(u32 config, int mutant, u64 max_states, bool trace);
};

extern const struct model data_model, exclusive_model, metadata_model;

#endif /* TIER_MODEL_H */
