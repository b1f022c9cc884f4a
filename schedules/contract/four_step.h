// The right-angle transform of a long sequence as a matrix (Bailey 1990), by a GPU whose threads keep
// their points in registers. The whole transform has the passes of its columns, which neighbouring
// columns share, then those of its rows. Row b is block b of the whole, and has its roots.
#pragma once
#include "schedules/contract/register_transform.h"

namespace longwave::schedules {

struct FourStepForm {
    RegisterForm columns; // of columns.length points, rows.length of them
    RegisterForm rows;    // lanes: channels
    uint32_t length() const { return columns.length * rows.length; }
    Radices radices() const; // of the whole
    // Channels among the lanes of a workgroup of columns; the others are neighbouring columns.
    // `row_lanes`: of a row.
    uint32_t column_channels(uint32_t row_lanes) const;
};

// Empty: `length` is no register_multiple(), or no matrix of it fits a workgroup. Rows are powers of
// two.
std::optional<FourStepForm> four_step_form(uint32_t length, uint32_t row_lanes,
                                           const WorkgroupLimits &limits);

} // namespace longwave::schedules
