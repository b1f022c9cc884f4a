// The generated reader of a recipe, without assertions (schema.h).
#pragma once
#include "formats/artifact/schema.h"

#include "formats/artifact/recipe_generated.h"
