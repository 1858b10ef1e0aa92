// A job's keys about children that are late again and again: part of job_schema().
#pragma once

#include "config/model/switch_config.h"
#include "config/text/field.h"

namespace tributary::config {

const Fields<StragglerPolicy>& straggler_fields();
// Those about the completion host, which a parameter server's file has, too.
const Fields<StragglerPolicy>& waiting_fields();

}  // namespace tributary::config
