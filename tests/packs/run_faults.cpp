// Kernels that go wrong when they are called, each in the way that its name says. copy.plain does not.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include "copy_kernel.hpp"

namespace {

using namespace nbx::test;

using Run = nbx_status (*)(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t);

std::int64_t span_bytes(const DLTensor& of) { return place(of, elements(of) - 1) + element_bytes(of); }
volatile char sink;

nbx_status copy_then(const nbx_problem& problem) {
  copy_elements(problem, elements(tensor(problem, "x")));
  return NBX_OK;
}

nbx_status crash(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t) {
  *reinterpret_cast<volatile int*>(4096) = 1;
  return NBX_OK;
}
nbx_status abort_run(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t) { std::abort(); }
nbx_status killed(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t) {
  raise(SIGKILL);
  return NBX_OK;
}
nbx_status exits(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t) { _exit(7); }
nbx_status hang(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t) {
  for (;;) pause();
}
nbx_status crash_later(const nbx_kernel*, const nbx_problem* problem, const nbx_launch*, char*, std::size_t) {
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    std::abort();
  }).detach();
  return copy_then(*problem);
}
nbx_status throws(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t) {
  throw std::runtime_error("no tile fits");
}
nbx_status throws_number(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t) { throw 7; }

nbx_status write_past_end(const nbx_kernel*, const nbx_problem* problem, const nbx_launch*, char*, std::size_t) {
  const DLTensor& y = tensor(*problem, "y");
  first_element(y)[span_bytes(y)] = 1;
  return copy_then(*problem);
}
nbx_status read_past_end(const nbx_kernel*, const nbx_problem* problem, const nbx_launch*, char*, std::size_t) {
  const DLTensor& x = tensor(*problem, "x");
  sink = first_element(x)[span_bytes(x) + 4];
  return copy_then(*problem);
}
nbx_status write_before(const nbx_kernel*, const nbx_problem* problem, const nbx_launch*, char*, std::size_t) {
  first_element(tensor(*problem, "y"))[-3] ^= 1;
  return copy_then(*problem);
}
nbx_status write_gap(const nbx_kernel*, const nbx_problem* problem, const nbx_launch*, char*, std::size_t) {
  const DLTensor& y = tensor(*problem, "y");
  first_element(y)[y.shape[y.ndim - 1] * y.strides[y.ndim - 1] * element_bytes(y)] ^= 1;
  return copy_then(*problem);
}
nbx_status change_input(const nbx_kernel*, const nbx_problem* problem, const nbx_launch*, char*, std::size_t) {
  const nbx_status status = copy_then(*problem);
  first_element(tensor(*problem, "x"))[5] ^= 1;
  return status;
}
nbx_status leave_unwritten(const nbx_kernel*, const nbx_problem* problem, const nbx_launch*, char*, std::size_t) {
  copy_elements(*problem, elements(tensor(*problem, "x")) - 1);
  return NBX_OK;
}
nbx_status print(const nbx_kernel*, const nbx_problem* problem, const nbx_launch*, char*, std::size_t) {
  std::puts("printed by a pack");
  return copy_then(*problem);
}

nbx_status unknown_status(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t) { return 77; }
nbx_status endless_message(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char* message, std::size_t size) {
  std::memset(message, 'a', size);
  return NBX_INVALID;
}
nbx_status overlong_message(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char* message, std::size_t size) {
  std::memset(message, 'a', size + 1);
  return NBX_INVALID;
}
nbx_status garbled_message(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char* message, std::size_t size) {
  std::snprintf(message, size, "x is \xFF\xFE");
  return NBX_INVALID;
}
nbx_status refuse(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char* message, std::size_t size) {
  std::snprintf(message, size, "x is too long");
  return NBX_INVALID;
}
nbx_status refuse_after_write(const nbx_kernel* kernel, const nbx_problem* problem, const nbx_launch* launch,
                              char* message, std::size_t size) {
  copy_elements(*problem, 1);
  return refuse(kernel, problem, launch, message, size);
}
nbx_status decline(const nbx_kernel*, const nbx_problem*, char* message, std::size_t size) {
  std::snprintf(message, size, "only on Tuesdays");
  return NBX_UNSUPPORTED;
}
nbx_status read_early(const nbx_kernel*, const nbx_problem* problem, char*, std::size_t) {
  sink = first_element(tensor(*problem, "x"))[0];
  return NBX_OK;
}

nbx_status refuse_workspace(const nbx_kernel*, const nbx_problem*, const nbx_launch*, std::uint64_t*, char* message,
                            std::size_t size) {
  std::snprintf(message, size, "x has no workspace");
  return NBX_INVALID;
}
nbx_status small_workspace(const nbx_kernel*, const nbx_problem*, const nbx_launch*, std::uint64_t* out, char*,
                           std::size_t) {
  *out = 100;
  return NBX_OK;
}
nbx_status fickle_workspace(const nbx_kernel*, const nbx_problem*, const nbx_launch*, std::uint64_t* out, char*,
                            std::size_t) {
  static std::uint64_t asked = 0;
  *out = 64 * ++asked;
  return NBX_OK;
}
nbx_status absurd_workspace(const nbx_kernel*, const nbx_problem*, const nbx_launch*, std::uint64_t* out, char*,
                            std::size_t) {
  *out = ~std::uint64_t{0};
  return NBX_OK;
}
/// Copies the workspace's bytes to y, so that a test sees what they held.
nbx_status show_workspace(const nbx_kernel*, const nbx_problem* problem, const nbx_launch* launch, char*, std::size_t) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(launch->workspace) % 256 == 0;
  if (!aligned || launch->workspace_bytes != 100) return NBX_INTERNAL;
  std::memcpy(first_element(tensor(*problem, "y")), launch->workspace, 100);
  std::memset(launch->workspace, 0x5A, 100);
  return NBX_OK;
}
nbx_status write_past_workspace(const nbx_kernel*, const nbx_problem* problem, const nbx_launch* launch, char*,
                                std::size_t) {
  static_cast<char*>(launch->workspace)[launch->workspace_bytes + 2] ^= 1;
  return copy_then(*problem);
}

nbx_kernel with_run(const char* name, Run run_entry, std::uint32_t alignment = 1) {
  nbx_kernel kernel = copy_kernel(name);
  kernel.run = run_entry;
  kernel.alignment = alignment;
  return kernel;
}
template <class Workspace>
nbx_kernel with_workspace(const char* name, Workspace workspace, Run run_entry) {
  nbx_kernel kernel = with_run(name, run_entry);
  kernel.workspace_bytes = workspace;
  return kernel;
}
nbx_kernel with_can_run(const char* name,
                        nbx_status (*entry)(const nbx_kernel*, const nbx_problem*, char*, std::size_t)) {
  nbx_kernel kernel = copy_kernel(name);
  kernel.can_run = entry;
  return kernel;
}
nbx_kernel with_check(const char* name, Run entry) {
  nbx_kernel kernel = copy_kernel(name);
  kernel.check = entry;
  return kernel;
}

}  // namespace

const nbx_pack* nbx_pack_open(std::uint32_t, char*, std::size_t) {
  static const std::vector<nbx_kernel> kernels = {
      copy_kernel("copy.plain"),
      with_run("copy.aligned", run, 64),
      with_run("copy.crash", crash),
      with_run("copy.abort", abort_run),
      with_run("copy.killed", killed),
      with_run("copy.exits", exits),
      with_run("copy.hang", hang),
      with_run("copy.crash_later", crash_later),
      with_run("copy.throws", throws),
      with_run("copy.throws_number", throws_number),
      with_run("copy.write_past_end", write_past_end),
      with_run("copy.write_past_end_aligned", write_past_end, 64),
      with_run("copy.read_past_end", read_past_end),
      with_run("copy.write_before", write_before),
      with_run("copy.write_gap", write_gap),
      with_run("copy.change_input", change_input),
      with_run("copy.leave_unwritten", leave_unwritten),
      with_run("copy.print", print),
      with_run("copy.unknown_status", unknown_status),
      with_run("copy.endless_message", endless_message),
      with_run("copy.overlong_message", overlong_message),
      with_run("copy.garbled_message", garbled_message),
      with_run("copy.refuse", refuse),
      with_run("copy.refuse_after_write", refuse_after_write),
      with_check("copy.refuse_in_check", refuse),
      with_can_run("copy.decline", decline),
      with_can_run("copy.read_early", read_early),
      with_workspace("copy.refuse_workspace", refuse_workspace, refuse),
      with_workspace("copy.fickle_workspace", fickle_workspace, run),
      with_workspace("copy.absurd_workspace", absurd_workspace, run),
      with_workspace("copy.show_workspace", small_workspace, show_workspace),
      with_workspace("copy.write_past_workspace", small_workspace, write_past_workspace),
  };
  static const std::vector<const nbx_kernel*> pointers = [] {
    std::vector<const nbx_kernel*> all;
    for (const nbx_kernel& kernel : kernels) all.push_back(&kernel);
    return all;
  }();
  static const nbx_pack pack = copy_pack("run_faults", pointers.data(), pointers.size());
  return &pack;
}
