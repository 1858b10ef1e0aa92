// The portable set: the plain loops, compiled for the build's baseline.
#pragma once

#include "aggregator/kernels/loops.h"

#define TRIBUTARY_SET portable
#define TRIBUTARY_TARGET
#include "aggregator/kernels/compiled_set.h"
#undef TRIBUTARY_SET
#undef TRIBUTARY_TARGET
