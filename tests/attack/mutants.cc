#include "tests/attack/mutants.h"
#include "formats/artifact/header.h"
#include "formats/artifact/modules_generated.h"
#include "formats/artifact/plan_generated.h"
#include "formats/artifact/write.h"
#include "modules_bfbs_generated.h"
#include "plan_bfbs_generated.h"
#include "tests/fuzz/must.h"
#include "tests/fuzz/plan_mutator.h"
#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>

namespace longwave::attack {
namespace {

using artifact::Header;
using Bytes = std::vector<uint8_t>;

constexpr uint32_t ways = 20;           // to change a place
constexpr uint64_t byte_changes = 2000; // changes of segments and lengths

// The same plan with no number left out for being its default: then each has a place.
Bytes with_all_numbers(const Bytes &artifact) {
    Header header;
    memcpy(&header, artifact.data(), sizeof header);
    fb::PlanT plan;
    fb::GetPlan(artifact.data() + header.plan_offset)->UnPackTo(&plan);
    std::vector<artifact::SegmentData> segments;
    for (auto &segment : plan.segments)
        segments.push_back(
            {segment->kind, Bytes(artifact.begin() + static_cast<long>(segment->offset),
                                  artifact.begin() + static_cast<long>(segment->offset + segment->size))});
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    builder.Finish(fb::Plan::Pack(builder, &plan), fb::PlanIdentifier());
    uint64_t end = header.plan_offset + builder.GetSize();
    for (auto &segment : plan.segments) {
        segment->offset = (end + 63) / 64 * 64;
        end = segment->offset + segment->size;
    }
    builder.Clear(); // ForceDefaults stays: the size does, too
    builder.Finish(fb::Plan::Pack(builder, &plan), fb::PlanIdentifier());
    Bytes bytes(end);
    header.plan_bytes = builder.GetSize();
    header.total_bytes = end;
    memcpy(bytes.data(), &header, sizeof header);
    memcpy(bytes.data() + header.plan_offset, builder.GetBufferPointer(), builder.GetSize());
    for (size_t i = 0; i < segments.size(); ++i)
        std::copy(segments[i].bytes.begin(), segments[i].bytes.end(),
                  bytes.begin() + static_cast<long>(plan.segments[i]->offset));
    fuzz::renew_hashes(bytes);
    return bytes;
}

const fb::Plan &plan_of(const Bytes &bytes) { return *fb::GetPlan(bytes.data() + artifact::header_bytes); }

uint64_t load(const Bytes &bytes, uint64_t at, uint32_t size) {
    uint64_t value = 0;
    memcpy(&value, bytes.data() + at, size);
    return value;
}
void store(Bytes &bytes, uint64_t at, uint64_t value, uint32_t size) {
    memcpy(bytes.data() + at, &value, size);
}

uint64_t value_for(uint32_t how, uint64_t now, uint64_t before, const Place &place) {
    static constexpr float floats[] = {0.0f, -1.0f, 1e30f, -1e-40f};
    if (place.real && how >= 16) {
        uint32_t bits;
        memcpy(&bits, &floats[how - 16], sizeof bits);
        return bits;
    }
    if (place.real && how == 2) return 0x7fc00000; // none
    if (place.real && how == 3) return 0x7f800000; // infinite
    switch (how) {
    case 0: return 0;
    case 1: return 1;
    case 2: return now + 1;
    case 3: return now - 1;
    case 4: return ~uint64_t{0};
    case 5: return uint64_t{1} << (8 * place.bytes - 1);
    case 6: return (uint64_t{1} << (8 * place.bytes - 1)) - 1;
    case 7: return uint64_t{1} << 31;
    case 8: return uint64_t{1} << 32;
    case 9: return (uint64_t{1} << 63) + 1;
    case 10: return (uint64_t{1} << 32) - 1;
    case 11: return before;
    case 12: return now * 2;
    case 13: return now / 2;
    case 14: return now + 64;
    case 15: return now - 64;
    case 16: return now + 4;
    case 17: return now - 4;
    case 18: return now ^ (uint64_t{1} << (place.at % (8 * place.bytes)));
    default: return before + now;
    }
}

bool has(const std::string &name, const char *word) { return name.find(word) != std::string::npos; }

} // namespace

Mutants::Mutants(const Bytes &artifact) : original_(with_all_numbers(artifact)) {
    add_header();
    Part plan;
    plan.begin = artifact::header_bytes;
    plan.places = places_of(original_.data() + plan.begin, fb::PlanBinarySchema::data());
    parts_.push_back(std::move(plan));
    const auto &segments = *plan_of(original_).segments();
    for (uint32_t i = 0; i < segments.size(); ++i) {
        if (segments.Get(i)->kind() != fb::SegmentKind::modules) continue;
        Part modules;
        modules.begin = segments.Get(i)->offset() + 8;
        modules.places = places_of(original_.data() + modules.begin, fb::ModulesBinarySchema::data());
        modules.gpu = true;
        modules.segment = i;
        parts_.push_back(std::move(modules));
    }
    for (const Part &part : parts_) ends_.push_back(singles_ += part.places.all.size() * ways);
    singles_ += byte_changes;
}

void Mutants::add_header() {
    Part header;
    const auto add = [&](const char *name, uint64_t at, uint8_t bytes) {
        Place place{Place::Kind::number, false, false, bytes, 1, at};
        place.name = static_cast<uint32_t>(header.places.names.size());
        place.before = static_cast<uint32_t>(std::max<size_t>(header.places.all.size(), 1) - 1);
        header.places.names.push_back(std::string("header.") + name);
        header.places.all.push_back(place);
    };
    add("magic", 0, 8), add("major", 8, 2), add("minor", 10, 2), add("header_bytes", 12, 4);
    add("total_bytes", 16, 8), add("plan_offset", 24, 8), add("plan_bytes", 32, 8);
    add("flags", 40, 4), add("reserved_flags", 44, 4), add("hash", 48, 8);
    add("key", 80, 8), add("signature", 112, 8), add("reserved", 176, 8), add("reserved", 248, 8);
    parts_.push_back(std::move(header));
}

Mutants::Mutant Mutants::make(uint64_t number) const {
    Mutant mutant;
    mutant.bytes = original_;
    if (number < singles_) {
        change(mutant, number);
    } else {
        std::mt19937_64 random(number);
        for (uint64_t n = 2 + random() % 2; n > 0; --n) change(mutant, random() % singles_);
    }
    seal(mutant);
    return mutant;
}

void Mutants::change(Mutant &mutant, uint64_t number) const {
    const size_t p =
        static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), number) - ends_.begin());
    if (p == parts_.size()) return change_bytes(mutant, number - ends_.back());
    const uint64_t within = number - (p > 0 ? ends_[p - 1] : 0);
    change_place(mutant, parts_[p], parts_[p].places.all[within / ways],
                 static_cast<uint32_t>(within % ways));
}

void Mutants::change_place(Mutant &mutant, const Part &part, const Place &place, uint32_t how) const {
    Bytes &bytes = mutant.bytes;
    const uint64_t at = part.begin + place.at;
    if (at + place.bytes > bytes.size()) return; // cut off by another change
    const std::string &name = part.places.names[place.name];
    std::string what;
    const uint32_t i = how % std::max(place.count, 1u), j = (how / 3 + 1) % std::max(place.count, 1u);
    const auto element = [&](uint32_t index) { return at + uint64_t{index} * place.bytes; };
    // An offset counts from where it stands.
    const auto get = [&](uint32_t index) {
        return load(bytes, element(index), std::min<uint32_t>(place.bytes, 8)) +
               (place.offsets ? element(index) : 0);
    };
    const auto put = [&](uint32_t index, uint64_t value) {
        store(bytes, element(index), value - (place.offsets ? element(index) : 0),
              std::min<uint32_t>(place.bytes, 8));
    };
    switch (place.kind) {
    case Place::Kind::number: {
        const Place &other = part.places.all[place.before];
        const uint64_t now = load(bytes, at, place.bytes),
                       before = load(bytes, part.begin + other.at, other.bytes);
        const uint64_t value = value_for(how, now, before, place);
        store(bytes, at, value, place.bytes);
        if (how == 19) { // the two change places
            store(bytes, at, before, place.bytes);
            store(bytes, part.begin + other.at, now, other.bytes);
        }
        what = " = " + std::to_string(load(bytes, at, place.bytes));
        break;
    }
    case Place::Kind::list: {
        if (element(place.count) > bytes.size()) return;
        const uint32_t kind = how % 5;
        if (kind == 0) store(bytes, at - 4, place.count - 1, 4), what = " without its last";
        if (kind == 1) store(bytes, at - 4, place.count + 1, 4), what = " with one more";
        if (kind == 2 && place.count > 0) {
            const uint64_t first = get(i), second = get(j);
            put(i, second), put(j, first),
                what = " with " + std::to_string(i) + " and " + std::to_string(j) + " exchanged";
        }
        if (kind == 3 && place.count > 0)
            put(j, get(i)), what = " with " + std::to_string(i) + " again as " + std::to_string(j);
        if (kind == 4 && place.count > 0) {
            for (uint32_t k = i; k + 1 < place.count; ++k) put(k, get(k + 1));
            store(bytes, at - 4, place.count - 1, 4), what = " without " + std::to_string(i);
        }
        break;
    }
    case Place::Kind::text: {
        static constexpr uint8_t letters[] = {0, 0x1b, 0xff, '/', '\\', 0xc2, 0xe2, '\n', 0x7f, 'a'};
        if (how < 4) {
            static constexpr uint32_t more[] = {~0u, 1, 200, ~0u / 2};
            store(bytes, at - 4, place.count + more[how], 4);
        } else if (place.count > 0 && element(i) < bytes.size()) {
            store(bytes, element(i), letters[how % std::size(letters)], 1);
        }
        what = " as a text, way " + std::to_string(how);
        break;
    }
    case Place::Kind::field:
        store(bytes, at, how % 4 ? 4 * how : 0, 2), what = how % 4 ? " elsewhere" : " left out";
        break;
    }
    mutant.name += (mutant.name.empty() ? "" : "; ") + (part.gpu ? "modules." + name : name) + what;
    mutant.gpu_code |= part.gpu;
    mutant.segments |= part.gpu || has(name, "segments");
}

void Mutants::change_bytes(Mutant &mutant, uint64_t number) const {
    Bytes &bytes = mutant.bytes;
    if (bytes.empty()) return; // cut off by another change
    std::mt19937_64 random(number);
    const auto &segments = *plan_of(original_).segments();
    if (number % 4 == 0 || segments.size() == 0) {
        const uint64_t edge = segments.size() == 0 ? artifact::header_bytes
                                                   : segments.Get(random() % segments.size())->offset();
        const uint64_t size = number % 8 == 0 ? edge + random() % 3 - 1 : random() % bytes.size();
        bytes.resize(std::min<uint64_t>(size, bytes.size()));
        mutant.name += "; cut to " + std::to_string(size) + " bytes";
        return;
    }
    const fb::Segment &segment = *segments.Get(random() % segments.size());
    const uint64_t word = segment.offset() + random() % (segment.size() / 4 + 1) * 4;
    if (word + 4 > bytes.size()) return;
    static constexpr uint32_t words[] = {0, 1, 0x7fc00000, 0xff800000, 0xffffffff, 0x80000000, 0x7f7fffff};
    const uint32_t value = random() % 8 < 7 ? words[random() % 7] : static_cast<uint32_t>(random());
    mutant.gpu_code |= segment.kind() == fb::SegmentKind::modules;
    store(bytes, word, value, 4);
    mutant.segments = true;
    mutant.name += "; word " + std::to_string(word) + " of the file = " + std::to_string(value);
}

// A change of a hash would undo itself if everything were hashed again: then only the root is.
void Mutants::seal(Mutant &mutant) const {
    Bytes &bytes = mutant.bytes;
    if (bytes.size() < artifact::header_bytes || has(mutant.name, "header.hash")) return;
    const bool keep = has(mutant.name, "abi") || has(mutant.name, "layout") || has(mutant.name, "hash");
    if (keep) fuzz::renew_root(bytes);
    else fuzz::renew_hashes(bytes, mutant.segments);
}

} // namespace longwave::attack
