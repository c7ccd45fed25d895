// The packs of a run, opened once, and the kernels in them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "contracts/child/executor.hpp"
#include "contracts/families/family.hpp"
#include "contracts/runner.hpp"

namespace nbx::contracts {

struct Inventory {
  struct Pack {
    std::filesystem::path file;
    PackInfo info;
  };
  struct Entry {
    std::size_t pack = 0;
    const KernelInfo* kernel = nullptr;
    const Family* family = nullptr;
    bool selected = true;  // by --device; the others serve as twins
  };
  std::vector<Pack> packs;
  std::vector<Entry> honest, controls;
  std::vector<PackResult> results;  // of every pack, those that failed included
  std::vector<std::string> notes, errors;

  const Entry* find(const std::string& kernel) const;                       // honest ones and controls
  const Entry* partner(std::size_t pack, const std::string& kernel) const;  // honest, that pack's own first
  const Entry* twin(const Entry& entry) const;  // the same kernel in a pack of another device
};

/// Opens every pack of the options, each in a child of its own that ends with the call.
std::unique_ptr<Inventory> open_packs(const RunOptions& options);

/// One runner thread's children: an executor for each pack, started when first used.
class Children {
 public:
  Children(const Inventory& inventory, std::chrono::milliseconds timeout);
  Executor& of(std::size_t pack);

 private:
  const Inventory& inventory_;
  std::chrono::milliseconds timeout_;
  std::vector<std::unique_ptr<Executor>> executors_;
};

}  // namespace nbx::contracts
