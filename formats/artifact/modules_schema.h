// The generated reader of a manifest of modules, without assertions (schema.h).
#pragma once
#include "formats/artifact/schema.h"

#include "formats/artifact/modules_generated.h"
