// The plan's generated reader, without assertions: whoever reads a plan has verified it, and
// nothing here may abort.
#pragma once
#ifndef FLATBUFFERS_ASSERT
#define FLATBUFFERS_ASSERT(condition) ((void)0)
#endif
#include "formats/artifact/plan_generated.h"
#include "formats/base/elem.h"

namespace longwave::artifact {

// The schema's element types are the project's: only here may one become the other.
constexpr Elem elem_of(fb::Elem elem) { return static_cast<Elem>(elem); }
static_assert(elem_of(fb::Elem::f32) == Elem::f32 && elem_of(fb::Elem::i32) == Elem::i32 &&
              elem_of(fb::Elem::f64) == Elem::f64 && elem_of(fb::Elem::f16) == Elem::f16 &&
              fb::Elem::MAX == fb::Elem::f16);

} // namespace longwave::artifact
