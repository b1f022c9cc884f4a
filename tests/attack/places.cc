#include "tests/attack/places.h"
#include <algorithm>
#include <flatbuffers/reflection_generated.h>

namespace longwave::attack {
namespace {

using flatbuffers::ReadScalar;
using flatbuffers::soffset_t;
using flatbuffers::uoffset_t;
using flatbuffers::voffset_t;
using reflection::BaseType;

constexpr uint32_t most_elements = 64;

uint32_t bytes_of(BaseType type) {
    switch (type) {
    case BaseType::UType:
    case BaseType::Bool:
    case BaseType::Byte:
    case BaseType::UByte: return 1;
    case BaseType::Short:
    case BaseType::UShort: return 2;
    case BaseType::Int:
    case BaseType::UInt:
    case BaseType::Float: return 4;
    case BaseType::Long:
    case BaseType::ULong:
    case BaseType::Double: return 8;
    default: return 0;
    }
}

class Walk {
public:
    Walk(const uint8_t *begin, const reflection::Schema &schema) : begin_(begin), schema_(schema) {}

    void table(const uint8_t *at, const reflection::Object &object, const std::string &name) {
        const uint8_t *vtable = at - ReadScalar<soffset_t>(at);
        const voffset_t size = ReadScalar<voffset_t>(vtable);
        for (const reflection::Field *field : *object.fields()) {
            const voffset_t slot = field->offset();
            if (slot + sizeof(voffset_t) > size || ReadScalar<voffset_t>(vtable + slot) == 0) continue;
            const std::string path = name.empty() ? field->name()->str() : name + '.' + field->name()->str();
            add({Place::Kind::field, false, false, 2, 1}, vtable + slot, path);
            value(at + ReadScalar<voffset_t>(vtable + slot), *field->type(), path);
        }
    }

    Places take() { return std::move(result_); }

private:
    void value(const uint8_t *at, const reflection::Type &type, const std::string &path) {
        if (const uint32_t bytes = bytes_of(type.base_type())) return number(at, type.base_type(), bytes, path);
        const auto &objects = *schema_.objects();
        if (type.base_type() == BaseType::Obj) {
            const reflection::Object &object = *objects.Get(static_cast<uint32_t>(type.index()));
            if (object.is_struct()) return record(at, object, path);
            return table(at + ReadScalar<uoffset_t>(at), object, path);
        }
        const uint8_t *there = at + ReadScalar<uoffset_t>(at);
        if (type.base_type() == BaseType::String) return text(there, path);
        if (type.base_type() == BaseType::Vector) list(there, type, path);
    }

    void record(const uint8_t *at, const reflection::Object &object, const std::string &path) {
        for (const reflection::Field *field : *object.fields())
            value(at + field->offset(), *field->type(), path + '.' + field->name()->str());
    }

    void text(const uint8_t *at, const std::string &path) {
        add({Place::Kind::text, false, false, 1, ReadScalar<uoffset_t>(at)}, at + 4, path);
    }

    void list(const uint8_t *at, const reflection::Type &type, const std::string &path) {
        const uint32_t count = ReadScalar<uoffset_t>(at);
        const BaseType element = type.element();
        const reflection::Object *object =
            element == BaseType::Obj ? schema_.objects()->Get(static_cast<uint32_t>(type.index())) : nullptr;
        const bool offsets = element == BaseType::String || (object && !object->is_struct());
        const uint32_t bytes = offsets  ? 4
                               : object ? static_cast<uint32_t>(object->bytesize())
                                        : bytes_of(element);
        add({Place::Kind::list, offsets, false, static_cast<uint8_t>(bytes), count}, at + 4, path);
        const bool all = object || count <= most_elements;
        for (uint32_t n = 0; n < (all ? count : most_elements); ++n) {
            const uint32_t i = all ? n : static_cast<uint32_t>(uint64_t{n} * (count - 1) / (most_elements - 1));
            const uint8_t *each = at + 4 + uint64_t{i} * bytes;
            const std::string name = path + '[' + std::to_string(i) + ']';
            if (!object && !offsets) number(each, element, bytes, name);
            else if (!object) text(each + ReadScalar<uoffset_t>(each), name);
            else if (object->is_struct()) record(each, *object, name);
            else table(each + ReadScalar<uoffset_t>(each), *object, name);
        }
    }

    void number(const uint8_t *at, BaseType type, uint32_t bytes, const std::string &path) {
        const bool real = type == BaseType::Float || type == BaseType::Double;
        add({Place::Kind::number, false, real, static_cast<uint8_t>(bytes), 1}, at, path);
        last_ = static_cast<uint32_t>(result_.all.size() - 1);
    }

    void add(Place place, const uint8_t *at, const std::string &path) {
        place.at = static_cast<uint64_t>(at - begin_);
        place.name = static_cast<uint32_t>(result_.names.size());
        place.before = result_.all.empty() ? 0 : last_;
        result_.names.push_back(path);
        result_.all.push_back(place);
    }

    const uint8_t *begin_;
    const reflection::Schema &schema_;
    Places result_;
    uint32_t last_ = 0; // the number seen last
};

} // namespace

Places places_of(const uint8_t *flatbuffer, const uint8_t *schema) {
    const reflection::Schema &read = *reflection::GetSchema(schema);
    Walk walk(flatbuffer, read);
    walk.table(flatbuffer + ReadScalar<uoffset_t>(flatbuffer), *read.root_table(), "");
    return walk.take();
}

} // namespace longwave::attack
