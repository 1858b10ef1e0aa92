// The keys of a job about children that are late again and again: part of job_schema().
#pragma once

#include "config/model/switch_config.h"
#include "config/text/field.h"

namespace tributary::config {

const Fields<StragglerPolicy>& straggler_fields();
// Of those, what concerns the completion host, and so a parameter server's file, too.
const Fields<StragglerPolicy>& waiting_fields();

}  // namespace tributary::config
