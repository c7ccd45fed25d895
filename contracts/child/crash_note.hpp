// Leaves a note for the parent when a signal ends the child.
#pragma once

#include <string>

#include "contracts/child/shared_file.hpp"

namespace nbx::contracts::sandbox {

/// Catches SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT: the handler stores signal, address and kind of access in `note`
/// and ends the process. Again after a pack was loaded, as it may have set handlers of its own.
void catch_crashes(Note& note);

/// "SIGSEGV in run: read past the end of k, at its end + 4 bytes", from the note and how the child ended (as waitpid
/// says). Names no more than is known: an address of no tensor is printed as it is.
std::string describe_end(const Note& note, int wait_status);

}  // namespace nbx::contracts::sandbox
