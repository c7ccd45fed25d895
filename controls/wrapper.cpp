#include "controls/wrapper.hpp"

#include "kernels/pack/refusal.hpp"

namespace nbx::controls {
namespace {

const Target& target_of(const nbx_kernel* self) { return *static_cast<const Target*>(self->context); }

/// Hands the call to `entry` of the honest kernel, as the fault changes it.
template <class Entry>
nbx_status changed(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch* launch, bool has_data,
                   char* message, std::size_t capacity, const Entry& entry) {
  const Target& target = target_of(self);
  nbx_status status = NBX_OK;
  const nbx_status own = pack::guarded(message, capacity, [&] {
    Call call(*problem, launch, has_data);
    const Fault* const fault = target.fault;
    if (fault != nullptr && fault->before != nullptr) fault->before(call);
    status = entry(target, call);
    if (fault != nullptr && has_data && status == NBX_OK && fault->after != nullptr) fault->after(call);
  });
  if (own != NBX_OK) return own;
  if (status != NBX_OK && target.fault != nullptr && target.fault->refused != nullptr) {
    target.fault->refused(message, capacity);
  }
  return status;
}

nbx_status can_run(const nbx_kernel* self, const nbx_problem* problem, char* message, std::size_t capacity) {
  return changed(self, problem, nullptr, false, message, capacity, [&](const Target& target, Call& call) {
    return target.honest->can_run(target.honest, &call.problem(), message, capacity);
  });
}

nbx_status arithmetic(const nbx_kernel* self, const nbx_problem* problem, nbx_arithmetic* out, char* message,
                      std::size_t capacity) {
  const nbx_kernel* const honest = target_of(self).honest;
  return honest->arithmetic(honest, problem, out, message, capacity);
}

nbx_status workspace_bytes(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch* launch,
                           std::uint64_t* out, char* message, std::size_t capacity) {
  return changed(self, problem, launch, false, message, capacity, [&](const Target& target, Call& call) {
    const nbx_status status =
        target.honest->workspace_bytes(target.honest, &call.problem(), call.how(), out, message, capacity);
    if (status == NBX_OK && target.fault != nullptr && target.fault->workspace != nullptr) {
      *out = target.fault->workspace(*out);
    }
    return status;
  });
}

nbx_status explain(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch* launch, char* message,
                   std::size_t capacity) {
  return changed(self, problem, launch, false, message, capacity, [&](const Target& target, Call& call) {
    return target.honest->explain(target.honest, &call.problem(), call.how(), message, capacity);
  });
}

nbx_status cost(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch* launch, nbx_cost* out,
                char* message, std::size_t capacity) {
  return changed(self, problem, launch, false, message, capacity, [&](const Target& target, Call& call) {
    const nbx_status status = target.honest->cost(target.honest, &call.problem(), call.how(), out, message, capacity);
    if (status == NBX_OK && target.fault != nullptr && target.fault->cost != nullptr) target.fault->cost(*out);
    return status;
  });
}

nbx_status check(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch* launch, char* message,
                 std::size_t capacity) {
  return changed(self, problem, launch, false, message, capacity, [&](const Target& target, Call& call) {
    return target.honest->check(target.honest, &call.problem(), call.how(), message, capacity);
  });
}

nbx_status run(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch* launch, char* message,
               std::size_t capacity) {
  return changed(self, problem, launch, true, message, capacity, [&](const Target& target, Call& call) {
    const RunEntry entry = target.composed != nullptr ? target.composed : target.honest->run;
    return entry(target.honest, &call.problem(), call.how(), message, capacity);
  });
}

}  // namespace

nbx_kernel wrapped(const Target& target, const Mutation& mutation, const char* name, const nbx_control* control) {
  nbx_kernel out = *target.honest;
  out.name = name;
  out.control = control;
  out.context = &target;
  if (mutation.alignment != 0) out.alignment = mutation.alignment;
  out.can_run = can_run;
  out.arithmetic = arithmetic;
  out.workspace_bytes = workspace_bytes;
  out.check = check;
  if (out.explain != nullptr) out.explain = explain;
  if (out.cost != nullptr) out.cost = cost;
  out.run = run;
  return out;
}

}  // namespace nbx::controls
