// Every place of a flatbuffer that can be changed, found through its schema: a field that is added
// to plan.fbs or modules.fbs is attacked without a line here.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::attack {

struct Place {
    enum class Kind : uint8_t {
        number, // `bytes` bytes
        list,   // `bytes` bytes an element, `count` of them; offsets to tables and texts have 4
        text,   // `count` bytes behind its length
        field,  // what the vtable says of a field that is there: 2 bytes
    };
    Kind kind;
    bool offsets = false; // list: its elements are offsets
    bool real = false;    // number: floating point
    uint8_t bytes = 0;
    uint32_t count = 0;
    uint64_t at = 0;     // from the beginning of the flatbuffer; of a list its first element
    uint32_t name = 0;   // index into the names
    uint32_t before = 0; // number: the place that comes before it; itself, where there is none
};

struct Places {
    std::vector<Place> all;
    std::vector<std::string> names; // "entries[2].steps[4].tiles"
};

// `schema`: what `flatc --schema -b` makes. The flatbuffer has been verified. Of a list of numbers
// or texts with more than 64 elements, 64 are looked at.
Places places_of(const uint8_t *flatbuffer, const uint8_t *schema);

} // namespace longwave::attack
