// A name for content: equal content has equal names, and other content another one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace nbx::reports {

/// 122 bits of SHA-1, in 32 hexadecimal digits.
std::string content_hash(std::string_view bytes);
/// Of texts, with where each ends.
std::string content_hash(const std::vector<std::string>& texts);
/// Of a file's content. Throws std::runtime_error where it cannot be read.
std::string file_hash(const std::filesystem::path& file);

}  // namespace nbx::reports
