// The keys of a job about children that are late again and again: part of job_schema().
#pragma once

#include "config/field.h"
#include "config/switch_config.h"

namespace tributary::config {

const Fields<StragglerPolicy>& straggler_fields();

}  // namespace tributary::config
