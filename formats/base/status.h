// Status: what went wrong, who is at fault, and where. The product's libraries report failures only
// through it: they never print, throw across an interface, abort or exit.
#pragma once
#include <string>
#include <utility>

namespace longwave {

// Who can mend it decides the class, and the class decides the exit code of the command line.
enum class Fault {
    none,
    usage,   // the caller asked for something that cannot be: exit 2
    input,   // a file, package, artifact or audio stream is wrong: exit 3
    check,   // a promised equality or limit did not hold: exit 1
    device,  // the machine refused: memory, file system, missing CPU features: exit 4
    internal // a defect of ours: exit 4
};

class [[nodiscard]] Status {
public:
    Status() = default;
    Status(Fault fault, std::string message) : fault_(fault), message_(std::move(message)) {}

    static Status ok() { return {}; }
    static Status usage(std::string m) { return {Fault::usage, std::move(m)}; }
    static Status input(std::string m) { return {Fault::input, std::move(m)}; }
    static Status check(std::string m) { return {Fault::check, std::move(m)}; }
    static Status device(std::string m) { return {Fault::device, std::move(m)}; }
    static Status internal(std::string m) { return {Fault::internal, std::move(m)}; }

    explicit operator bool() const { return fault_ == Fault::none; }
    Fault fault() const { return fault_; }
    // One clear line for each problem: what, where, expected and found, and the way out.
    const std::string &message() const { return message_; }

private:
    Fault fault_ = Fault::none;
    std::string message_;
};

} // namespace longwave
