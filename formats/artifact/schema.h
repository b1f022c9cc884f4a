// The plan's generated reader, without assertions: whoever reads a plan has verified it, and nothing here may abort.
#pragma once
#ifndef FLATBUFFERS_ASSERT
#define FLATBUFFERS_ASSERT(condition) ((void)0)
#endif
#include "formats/artifact/plan_generated.h"
