#include "bindings.h"

NB_MODULE(_native, module) {
    using namespace longwave::python;
    module.doc() = "The C API of Longwave. Use `import longwave`.";
    bind_errors(module);
    bind_model(module);
    bind_stream(module);
    bind_batch(module);
    bind_spotter(module);
    bind_speech_detector(module);
    bind_audio_stream(module);
    bind_generator(module);
    module.attr("version") = lw_version();
}
