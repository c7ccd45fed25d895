// Files that are either the old ones or whole new ones.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace nbx::reports {

/// Writes to a temporary file beside `path` and renames it; a pipe or device is written to directly. Returns why it
/// could not, empty where it could; then nothing of the new text is left behind.
std::string write_file(const std::filesystem::path& path, std::string_view text);

/// A report that a command was asked for; without a name nobody asked. Where it cannot be written stderr says why;
/// false.
bool wrote_report(const std::string& file, std::string_view text);

/// The whole of a file. Throws std::runtime_error with the reason.
std::string read_file(const std::filesystem::path& path);

}  // namespace nbx::reports
