#include "tests/attack/followed.h"
#include "formats/artifact/verify.h"
#include "plan_bfbs_generated.h"
#include "tests/attack/places.h"
#include "tests/fuzz/must.h"
#include <set>
#include <string>

namespace longwave::attack {
namespace {

bool is_index(const fb::KernelArg &arg) {
    return arg.kind() == fb::ArgKind::input && arg.elem() == fb::Elem::i32;
}

uint64_t bytes_of(const fb::KernelArg &arg) {
    int64_t last = 0; // strides of verified arguments reach inside their place
    for (const fb::Dim *dim : *arg.dims()) last += int64_t{dim->extent() - 1} * dim->stride();
    return 4 * static_cast<uint64_t>(last + 1);
}

// "entries[2].steps[4].tiles" -> "entries[2].steps[4]"; "inputs[0].width" -> "inputs"
std::string owner_of(const std::string &name) {
    if (!name.starts_with("entries[")) return name.substr(0, name.find('['));
    const size_t dot = name.find('.');
    return name.substr(0, dot == std::string::npos ? dot : name.find('.', dot + 1));
}

class Search {
public:
    Search(const uint8_t *file, const artifact::View &view)
        : view_(view), plan_(file + view.header().plan_offset) {
        // First the steps that follow indices, then who else uses the same memory.
        for (const bool first : {true, false})
            for (uint32_t e = 0; e < view.plan().entries()->size(); ++e)
                entry(*view.plan().entries()->Get(e), e, first);
        // Token ids also come from callers, from saved states and from golden vectors.
        if (!spaces_.empty()) owners_.insert({"inputs", "state", "golden"});
    }

    std::vector<uint8_t> found() {
        const Places places = places_of(plan_, fb::PlanBinarySchema::data());
        for (const Place &place : places.all) {
            const std::string &name = places.names[place.name];
            if (place.kind != Place::Kind::number || !owners_.contains(owner_of(name))) continue;
            bytes_.insert(bytes_.end(), name.begin(), name.end());
            bytes_.insert(bytes_.end(), plan_ + place.at, plan_ + place.at + place.bytes);
        }
        return std::move(bytes_);
    }

private:
    void entry(const fb::Entry &entry, uint32_t e, bool first) {
        const std::string name = "entries[" + std::to_string(e) + "].";
        steps(entry.steps(), name + "steps", first);
        steps(entry.rebuild(), name + "rebuild", first);
        if (first) return;
        ports(entry.inputs(), name + "inputs");
        ports(entry.outputs(), name + "outputs");
    }

    template <class List> void steps(const List *list, const std::string &name, bool first) {
        for (uint32_t i = 0; list && i < list->size(); ++i) {
            const fb::Step &step = *list->Get(i);
            for (uint32_t a = 0; step.args() && a < step.args()->size(); ++a) {
                const fb::Place *place = step.args()->Get(a)->place();
                if (!place) continue;
                const bool owns = first ? index(step, a, *place) : spaces_.contains(place->space());
                if (owns) owners_.insert(name + '[' + std::to_string(i) + ']');
            }
        }
    }

    bool index(const fb::Step &step, uint32_t a, const fb::Place &place) {
        if (step.kind() != fb::StepKind::call) return false;
        const fb::KernelArg &arg = *view_.plan().kernels()->Get(step.kernel())->args()->Get(a);
        if (!is_index(arg)) return false;
        if (place.space() != fb::Space::weights) {
            spaces_.insert(place.space());
            return true;
        }
        const uint8_t *indices = view_.weights().data + place.offset(); // nobody writes to them
        bytes_.insert(bytes_.end(), indices, indices + bytes_of(arg));
        return true;
    }

    template <class List> void ports(const List *list, const std::string &name) {
        for (uint32_t i = 0; list && i < list->size(); ++i)
            if (spaces_.contains(list->Get(i)->place()->space()))
                owners_.insert(name + '[' + std::to_string(i) + ']');
    }

    const artifact::View &view_;
    const uint8_t *plan_;
    std::set<fb::Space> spaces_;   // where indices are computed or handed in
    std::set<std::string> owners_; // whose numbers must stay
    std::vector<uint8_t> bytes_;
};

} // namespace

bool follows_indices(const fb::Plan &plan, const fb::Entry &entry) {
    for (const fb::Step *step : *entry.steps())
        if (step->kind() == fb::StepKind::call)
            for (const fb::KernelArg *arg : *plan.kernels()->Get(step->kernel())->args())
                if (is_index(*arg)) return true;
    return false;
}

Followed::Followed(const std::vector<uint8_t> &artifact) {
    artifact::Request request;
    request.file = artifact.data();
    request.size = artifact.size();
    request.memory_limit = UINT64_MAX;
    artifact::View view;
    const artifact::Broken broken = artifact::verify(request, &view);
    fuzz::must(!broken, "the original is sound");
    original_ = Search(artifact.data(), view).found();
}

bool Followed::same(const uint8_t *file, const artifact::View &mutant) const {
    return Search(file, mutant).found() == original_;
}

} // namespace longwave::attack
