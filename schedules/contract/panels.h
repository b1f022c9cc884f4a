// How the weights of a product lie in memory: in panels of 16 outputs, [panel][word of
// inputs][output of the panel], so that a kernel walks over each panel from end to end whatever its
// register tile and its number of rows are. One layout for all targets and block sizes: the
// compiler stores a matrix once. No Halide.
#pragma once
#include "schedules/contract/kernel.h"
#include "schedules/contract/weight_formats.h"
#include <cstdint>
#include <span>
#include <vector>

namespace longwave::schedules {

// With gates behind the values, each panel of values is followed by that of their gates. A word
// holds one float32 weight, two of bf16, four of int8 or eight of int4.
struct Panels {
    uint32_t in = 1, out = 1, halves = 1;
    WeightFormat format = WeightFormat::float32;

    uint32_t width() const { return out == 1 ? 1 : lanes; }          // outputs of a panel
    uint32_t count() const { return (out + width() - 1) / width(); } // panels of each half
    uint32_t of_word() const { return weights_of_word(format); }
    // Of an output. int4 has whole groups.
    uint32_t words() const {
        const uint32_t together = format == WeightFormat::int4 ? int4_group : of_word();
        return (in + together - 1) / together * (together / of_word());
    }
    uint32_t groups() const { return words() * of_word() / int4_group; } // of int4
    // Words from one panel to the next. Not a whole number of pages: panels that are read side by
    // side would meet in the same sets of the caches.
    uint64_t stride() const {
        const uint64_t dense = uint64_t{words()} * width();
        return dense % 1024 == 0 ? dense + lanes : dense;
    }
    uint64_t size() const {
        return (uint64_t{count()} * halves - 1) * stride() + uint64_t{words()} * width();
    }
    // A word holds consecutive inputs. Where a panel is one output, whose lanes run along the
    // inputs, it holds inputs that are a whole row of words apart, so that neighbouring words have
    // neighbouring inputs.
    uint32_t word(uint32_t i) const { return width() == 1 ? i % words() : i / of_word(); }
    uint32_t place(uint32_t i) const { return width() == 1 ? i / words() : i % of_word(); }
    // The word of an input.
    uint64_t at(uint32_t o, uint32_t half, uint32_t i) const {
        return (uint64_t{o / width()} * halves + half) * stride() + uint64_t{word(i)} * width() + o % width();
    }
    // Of its bits in the word. int4: the lower halves of the four bytes hold the first four inputs,
    // the upper halves the next four.
    uint32_t shift(uint32_t i) const {
        if (format == WeightFormat::int4) return place(i) % 4 * 8 + place(i) / 4 * 4;
        return place(i) * (32 / of_word());
    }
    // Scales. int4: a panel's lie together, group by group.
    size_t scales() const {
        if (format == WeightFormat::int4) return size_t{groups()} * lanes * count() * halves;
        return format == WeightFormat::int8 ? size_t{pad(out)} * halves : 0;
    }
    size_t scale_at(uint32_t o, uint32_t half, uint32_t group) const {
        if (format == WeightFormat::int8) return size_t{half} * pad(out) + o;
        return ((size_t{o / lanes} * halves + half) * groups() + group) * lanes + o % lanes;
    }
};

// A matrix as kernels read it, made output by output; what is never set is a weight of zero.
class PackedPanels {
public:
    explicit PackedPanels(const Panels &panels);
    // Weight n of the row is that of input inputs[n].
    void set(uint32_t o, uint32_t half, std::span<const double> row, std::span<const uint32_t> inputs);

    const Panels panels;
    std::vector<uint32_t> words;
    std::vector<float> scales; // at Panels::scale_at; empty for formats without
};

} // namespace longwave::schedules
