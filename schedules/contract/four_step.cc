#include "schedules/contract/four_step.h"
#include <algorithm>
#include <tuple>

namespace longwave::schedules {

namespace {

constexpr uint32_t least_threads = 64; // of a workgroup that keeps a GPU busy
constexpr uint32_t least_column = 10;  // one pass, without shared memory

// Of both ways. With one plane the parts of a point follow one another (gpu/register_points.h).
int barriers(const RegisterForm &form) {
    return static_cast<int>(2 * (form.radices.size() - 1)) * (form.planes == 2 ? 1 : 3);
}

// Better forms are greater: sectors are used whole, workgroups are not too small, barriers are few.
auto merit(const FourStepForm &form, uint32_t row_lanes) {
    const uint32_t wanted = std::min(sector_lanes, row_lanes & -row_lanes);
    return std::tuple(form.rows.lanes >= wanted && form.columns.lanes >= sector_lanes,
                      form.rows.threads() >= least_threads, -barriers(form.columns) - barriers(form.rows),
                      form.rows.length);
}

} // namespace

Radices FourStepForm::radices() const {
    Radices all = columns.radices;
    all.insert(all.end(), rows.radices.begin(), rows.radices.end());
    return all;
}

uint32_t FourStepForm::column_channels(uint32_t row_lanes) const {
    return std::min({columns.lanes, row_lanes & -row_lanes, 2 * sector_lanes});
}

std::optional<FourStepForm> four_step_form(uint32_t length, uint32_t row_lanes,
                                           const WorkgroupLimits &limits) {
    std::optional<FourStepForm> best;
    for (uint32_t row = least_register_length; row <= most_register_length && row * least_column <= length;
         row *= 2) {
        if (length % row != 0) break;
        const auto rows = register_form(row, row_lanes, limits);
        const auto columns = register_column_form(length / row, limits);
        if (!rows || !columns) continue;
        const FourStepForm form{*columns, *rows};
        if (!best || merit(form, row_lanes) > merit(*best, row_lanes)) best = form;
    }
    return best;
}

} // namespace longwave::schedules
