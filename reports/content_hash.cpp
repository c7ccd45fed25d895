#include "reports/content_hash.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid.hpp>
#include <boost/uuid/uuid_io.hpp>

#include "reports/write_file.hpp"

namespace nbx::reports {

std::string content_hash(std::string_view bytes) {
  static const boost::uuids::name_generator_sha1 generator(boost::uuids::ns::oid());
  std::string text = boost::uuids::to_string(generator(bytes.data(), bytes.size()));
  std::erase(text, '-');
  return text;
}

std::string content_hash(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += std::to_string(text.size()) + ':' + text;
  return content_hash(all);
}

std::string file_hash(const std::filesystem::path& file) try {
  return content_hash(read_file(file));
} catch (const std::runtime_error& error) {
  throw std::runtime_error(file.string() + ": " + error.what());
}

}  // namespace nbx::reports
