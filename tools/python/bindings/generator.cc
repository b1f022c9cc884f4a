// longwave.Generator: token ids as they come.
#include "longwave/generator.h"
#include "bindings.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace longwave::python {

using namespace nb::literals;

namespace {

struct Token {
    int32_t id;
    float log_probability;
    uint64_t position;
    bool stop;
};

// The stream goes after the generator.
struct Writer {
    lw_stream *stream = nullptr;
    lw_generator *generator = nullptr;
    static void destroy(Writer *writer) {
        lw_generator_destroy(writer->generator);
        lw_stream_destroy(writer->stream);
        delete writer;
    }
};

struct Settings {
    uint64_t seed;
    float temperature, top_p, min_p, repetition_penalty;
    uint32_t top_k;
    bool log_probabilities;
    std::vector<std::vector<int32_t>> stops;
};

class Generator {
public:
    Generator(const Model &model, uint64_t seed, float temperature, uint32_t top_k, float top_p, float min_p,
              float repetition_penalty, bool log_probabilities, std::vector<std::vector<int32_t>> stops)
        : input_(input_info(model.get(), 0)),
          writer_(create(model, {seed, temperature, top_p, min_p, repetition_penalty, top_k,
                                 log_probabilities, std::move(stops)}),
                  Writer::destroy, model.share(), "the generator") {}

    void prompt(nb::handle ids) {
        const Samples in = samples(ids, input_);
        writer_.use([&](Writer *w) {
            check(lw_generator_prompt(w->generator, static_cast<const int32_t *>(in.data), in.ticks));
        });
    }
    Token next() {
        auto token = make<lw_generator_token>();
        writer_.use([&](Writer *w) { check(lw_generator_next(w->generator, &token)); });
        return {token.id, token.log_probability, token.position, token.stop != 0};
    }
    void reset() {
        writer_.use([](Writer *w) { check(lw_generator_reset(w->generator)); });
    }
    nb::bytes save() {
        const std::string bytes = writer_.use([](Writer *w) {
            return saved([&](void *to, size_t size, size_t *n) {
                return lw_generator_save(w->generator, to, size, n);
            });
        });
        return nb::bytes(bytes.data(), bytes.size());
    }
    void load(const nb::bytes &state) {
        writer_.use([&](Writer *w) { check(lw_generator_load(w->generator, state.c_str(), state.size())); });
    }
    void close() { writer_.close(); }

private:
    static Writer *create(const Model &model, const Settings &settings) {
        const std::unique_ptr<Writer, void (*)(Writer *)> writer(new Writer, Writer::destroy);
        auto one = make<lw_stream_options>();
        one.block = 1;
        one.format = LW_I32;
        check(lw_stream_create(model.get(), &one, &writer->stream));
        std::vector<lw_stop_sequence> stops;
        for (const std::vector<int32_t> &ids : settings.stops) stops.push_back({ids.data(), ids.size()});
        auto options = make<lw_generator_options>();
        options.seed = settings.seed;
        options.temperature = settings.temperature;
        options.top_k = settings.top_k;
        options.top_p = settings.top_p;
        options.min_p = settings.min_p;
        options.repetition_penalty = settings.repetition_penalty;
        options.log_probabilities = settings.log_probabilities;
        options.stops = stops.data();
        options.n_stops = stops.size();
        check(lw_generator_create(writer->stream, &options, &writer->generator));
        return new Writer(std::exchange(*writer, {}));
    }

    lw_input_info input_;
    Owned<Writer> writer_;
};

} // namespace

void bind_generator(nb::module_ &module) {
    nb::class_<Token>(module, "Token", "A chosen token.")
        .def_ro("id", &Token::id)
        .def_ro("log_probability", &Token::log_probability, "0 unless log_probabilities was asked for.")
        .def_ro("position", &Token::position, "Tokens in the stream before it.")
        .def_ro("stop", &Token::stop, "Whether a stop sequence ends with it.");
    nb::class_<Generator>(
        module, "Generator",
        "Text generation: prompt, then iterate over tokens. One thread at a time may use it.\n\n"
        "temperature 0 takes the most probable token. stops: lists of token ids that end the text.")
        .def(nb::init<const Model &, uint64_t, float, uint32_t, float, float, float, bool,
                      std::vector<std::vector<int32_t>>>(),
             "model"_a, nb::kw_only(), "seed"_a = 0, "temperature"_a = 0.0f, "top_k"_a = 0, "top_p"_a = 0.0f,
             "min_p"_a = 0.0f, "repetition_penalty"_a = 0.0f, "log_probabilities"_a = false,
             "stops"_a = std::vector<std::vector<int32_t>>())
        .def("prompt", &Generator::prompt, "ids"_a,
             nb::sig("def prompt(self, ids: numpy.typing.ArrayLike) -> None"),
             "Reads token ids [n] after those that the stream has read. Raises BadTokenError.")
        .def("next", &Generator::next, "Chooses the next token and reads it.")
        .def("reset", &Generator::reset, "Makes the generator and its stream as new.")
        .def("save", &Generator::save, "The state as bytes.")
        .def("load", &Generator::load, "state"_a, "Continues from saved bytes. Raises BadStateError.")
        .def("close", &Generator::close, "Frees the generator. Later calls raise WrongStateError.")
        .def(
            "__iter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __iter__(self) -> Generator"))
        .def("__next__", &Generator::next)
        .def(
            "__enter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __enter__(self) -> Generator"))
        .def(
            "__exit__", [](Generator &self, nb::args) { self.close(); },
            nb::sig("def __exit__(self, *args: object) -> None"));
}

} // namespace longwave::python
