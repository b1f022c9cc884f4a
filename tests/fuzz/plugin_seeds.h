// Seeds of what the plug-ins of examples/lv2 read: captures, and responses of rooms.
#pragma once
#include <map>
#include <string>

namespace longwave::fuzz {

std::map<std::string, std::string> plugin_seeds(); // by <target>/<name>
// What amp_shape.py writes for a capture of one layer and two channels.
std::string capture_map();

} // namespace longwave::fuzz
