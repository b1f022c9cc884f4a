// Kinds and elements of a plan as the interface names them.
#pragma once
#include "formats/artifact/schema.h"
#include "longwave/longwave.h"

namespace longwave::runtime {

// In the interface 0 is none, so that a field which nobody wrote is seen.
template <class Ours, class Plan> constexpr Ours to_interface(Plan value) {
    return static_cast<Ours>(static_cast<int>(value) + 1);
}
static_assert(to_interface<lw_state_elem>(fb::Elem::f32) == LW_STATE_ELEM_F32 &&
              to_interface<lw_state_elem>(fb::Elem::i32) == LW_STATE_ELEM_I32 &&
              to_interface<lw_state_elem>(fb::Elem::f64) == LW_STATE_ELEM_F64); // V13: state is of no other
static_assert(to_interface<lw_state_kind>(fb::StateKind::history) == LW_STATE_HISTORY &&
              to_interface<lw_state_kind>(fb::StateKind::carry) == LW_STATE_CARRY &&
              to_interface<lw_state_kind>(fb::StateKind::spectra) == LW_STATE_SPECTRA &&
              to_interface<lw_state_kind>(fb::StateKind::MAX) == LW_STATE_SPECTRA);
static_assert(to_interface<lw_input_kind>(fb::InputKind::audio) == LW_INPUT_AUDIO &&
              to_interface<lw_input_kind>(fb::InputKind::features) == LW_INPUT_FEATURES &&
              to_interface<lw_input_kind>(fb::InputKind::tokens) == LW_INPUT_TOKENS);

} // namespace longwave::runtime
