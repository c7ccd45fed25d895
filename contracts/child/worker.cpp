// The child: loads one pack and answers calls until the parent is gone.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

#include "contracts/child/crash_note.hpp"
#include "contracts/child/executor.hpp"
#include "contracts/child/loaded_pack.hpp"
#include "contracts/child/wire.hpp"
#include "contracts/child/worker_call.hpp"

namespace nbx::contracts {
namespace {

/// Ends the process when the parent does, however long a kernel takes or hangs. prctl(PR_SET_PDEATHSIG) would end it
/// with the thread that started it, and the parent's threads come and go.
void die_with_parent(int socket) {
  std::thread([socket] {
    pollfd end{socket, 0, 0};
    while (poll(&end, 1, -1) <= 0) {
    }
    _exit(0);
  }).detach();
}

void ignore_the_terminal() {
  for (const int signal : {SIGINT, SIGQUIT, SIGTTOU, SIGTTIN, SIGPIPE}) std::signal(signal, SIG_IGN);
}

struct Pack {
  sandbox::LoadedPack loaded;
  sandbox::CallRunner runner;
  Pack(const std::filesystem::path& file, sandbox::SharedFile& shared)
      : loaded(file, shared.note()), runner(loaded, shared) {}
};

wire::Answer answer(const wire::Request& request, const std::filesystem::path& file, sandbox::SharedFile& shared,
                    std::unique_ptr<Pack>& pack) {
  wire::Answer result;
  shared.map(request.file_bytes);
  if (pack == nullptr) {
    try {
      pack = std::make_unique<Pack>(file, shared);
    } catch (const sandbox::UnusablePack& unusable) {
      result.error = unusable.what();
      return result;
    }
    sandbox::catch_crashes(shared.note());
  }
  if (request.operation != wire::Operation::open) return pack->runner.answer(request);
  result.pack = pack->loaded.info();
  return result;
}

}  // namespace

int worker_main(const std::filesystem::path& pack_file, int socket) {
  ignore_the_terminal();
  die_with_parent(socket);
  // What a pack starts must not hold our ends open when we are gone.
  for (const int ours : {socket, socket + 1}) fcntl(ours, F_SETFD, FD_CLOEXEC);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what a pack prints is not lost when it crashes
  try {
    sandbox::SharedFile shared(socket + 1);
    sandbox::catch_crashes(shared.note());
    std::unique_ptr<Pack> pack;
    while (const auto message = wire::receive(socket)) {
      const wire::Request request = wire::unpack_request(*message);
      const wire::Answer result = answer(request, pack_file, shared, pack);
      shared.note().stage.store(sandbox::Stage::harness);
      if (!wire::send(socket, wire::pack_answer(result)) || result.last) break;
    }
    _exit(0);  // no destructors of a pack: they may hang
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nbx-contract worker: %s\n", error.what());
    return 3;
  }
}

}  // namespace nbx::contracts
