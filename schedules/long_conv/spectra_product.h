// The sum of products of spectra that partitioned convolutions of streams spend their time in.
#pragma once
#include "schedules/halide/builder.h"

namespace longwave::schedules {

struct SpectraProduct {
    Halide::ImageParam past, spectrum; // [T, 2, partitions, positions], [T, 2, partitions, positions, copies]
    Halide::Expr slot;                 // of the newest spectrum in the ring `past`
    int tile, positions, partitions, vec;
};

// z(lane, part, position, copy) = Σ_q X_{t−q}·K_q: for each position the partitions lie in a row,
// so that memory is read as a stream. All lanes of the tile at once, so that every cache line is
// read once. `newest`: X_t, where it is not in the ring yet.
Halide::Func product_of_spectra(const SpectraProduct &p, const Halide::Func &newest = {});

// The same for this block and, as far as the spectra are there, for the next ones: element g of the
// tuple is Σ_{q≥g} X_{t+g−q}·K_q, g < blocks. What they need together is read once.
Halide::Func product_of_spectra_ahead(const SpectraProduct &p, int blocks);

} // namespace longwave::schedules
