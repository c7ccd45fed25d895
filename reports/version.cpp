#include "reports/report.hpp"

namespace nbx::reports {

const char* version() { return NBX_VERSION; }

}  // namespace nbx::reports
