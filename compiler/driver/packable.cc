#include "compiler/driver/packable.h"
#include "compiler/artifact/recipe.h"
#include "compiler/driver/entries.h"
#include "compiler/driver/graphs.h"
#include "compiler/driver/stream_layouts.h"

namespace longwave::compiler {

namespace {

// What is stored for a package, and all plans as text.
struct Planned {
    Storage storage;
    std::string plans;
};

// `like`: as plan_entries.
Expected<Planned> planned(package::Package package, const Request &request, const Options &options,
                          const KernelCacheOptions &kernels, const Storage *like) {
    Passes passes(options);
    LW_ASSIGN(const ModelGraphs model, make_graphs(passes, package, request, options));
    Graphs graphs{model.offline, model.streams ? &model.stream : nullptr, model.capacity};
    LW_ASSIGN(graphs.by_channel, stream_layouts(graphs, request, options, kernels));
    LW_ASSIGN(Plans plans, plan_entries(graphs, {}, request.tuning, options, like));
    std::string text;
    for (const EntryPlan &entry : plans.entries) text += print(entry);
    return Planned{std::move(plans.storage), std::move(text)};
}

bool same_places(const Planned &a, const Planned &b) {
    const auto &x = a.storage.stored(), &y = b.storage.stored();
    return a.plans == b.plans &&
           std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto &one, const auto &other) {
               return one.elem == other.elem && one.part.offset == other.part.offset &&
                      one.part.bytes.size() == other.part.bytes.size();
           });
}

Expected<Packable> try_to(const package::Package &package, const Request &request, const Options &options,
                          const KernelCacheOptions &kernels) {
    LW_ASSIGN(package::Package probes, with_probes(package));
    LW_ASSIGN(Planned probed, planned(std::move(probes), request, options, kernels, nullptr));
    LW_ASSIGN(const Planned own, planned(package, request, options, kernels, &probed.storage));
    if (!same_places(own, probed))
        return Status::input("--pack: the plan of this model depends on the values of its weights, such as "
                             "zeros that a kernel leaves out; compile without --pack");
    Packable made;
    LW_ASSIGN(made.recipe, make_recipe(package, options.weights, own.storage, probed.storage));
    made.probed = std::move(probed.storage);
    made.unmixed = options.unmixed;
    return made;
}

} // namespace

Expected<Packable> make_packable(const package::Package &package, const Request &request,
                                 const Options &options, const KernelCacheOptions &kernels) {
    Options quiet = options;
    quiet.dump = nullptr;
    quiet.dump_after.clear();
    Expected<Packable> made = try_to(package, request, quiet, kernels);
    if (made || made.status().fault() != Fault::input) return made;
    quiet.unmixed = true;
    return try_to(package, request, quiet, kernels);
}

} // namespace longwave::compiler
