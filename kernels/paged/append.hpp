// paged.append: new keys or values into their places of a pool.
#pragma once

#include "kernels/pack/entries.hpp"
#include "kernels/paged/problem.hpp"
#include "kernels/tile/table.hpp"

namespace nbx::paged {

struct AppendRules {
  /// The place of a token; negative: none.
  NBX_FUNCTION static std::int64_t slot(std::int64_t slot, std::int64_t places) { return slot < places ? slot : -1; }
  template <class T>
  NBX_FUNCTION static T cast(float x) {
    return tile::encode<T>(x);
  }
};

/// A block is one token and KV head. N is the format of what is appended.
template <class T, class N, class R>
struct AppendProgram {
  std::int64_t tokens, Hk, D, page_tokens, places;
  const N* from;
  T* pool;
  const std::int32_t* slots;
  pack::Layout<3> from_at;
  pack::Layout<4> pool_at;
  std::int64_t slots_step;

  std::int64_t blocks() const { return tokens * Hk; }
  std::size_t tile_bytes() const { return 0; }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t head = block.index() % Hk, token = block.index() / Hk;
    const std::int64_t slot = R::slot(slots[token * slots_step], places);
    if (slot < 0) return;
    const N* const in = from + token * from_at.stride[0] + head * from_at.stride[1];
    T* const out = pool + slot / page_tokens * pool_at.stride[0] + head * pool_at.stride[1] +
                   slot % page_tokens * pool_at.stride[2];
    const std::int64_t in_step = from_at.stride[2], out_step = pool_at.stride[3];
    block.phase(D, [=](std::int64_t d) {
      if constexpr (std::is_same_v<T, N>) {
        out[d * out_step] = in[d * in_step];
      } else {
        out[d * out_step] = R::template cast<T>(tile::decode(in[d * in_step]));
      }
    });
  }
};

template <class T, class R = AppendRules>
struct AppendKernel {
  static constexpr const char* family = "paged_append";
  static constexpr DLDataType format = pack::type_of<T>;
  static constexpr pack::List<nbx_equality, 3> equalities{pack::promised("gate3.batch"), pack::promised("gate3.view"),
                                                          pack::promised("gate3.twin")};

  static Append read(const nbx_problem& problem, bool with_data) {
    return read_append(problem, {format, tile::device}, with_data);
  }
  static void can_run(const nbx_problem& problem) { read(problem, false); }
  static nbx_arithmetic arithmetic(const nbx_problem& problem) {
    read(problem, false);
    return pack::tile_arithmetic();
  }
  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch* how) {
    read(problem, false);
    const pack::Options none(how, {});
    return 0;
  }
  static void check(const nbx_problem& problem, const nbx_launch* how) {
    const Append a = read(problem, true);
    const pack::Options none(how, {});
    require_slots(a, tile::read_table(a.slots, how).data());
  }
  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const Append a = read(problem, true);
    const pack::Options none(&how, {});
    if constexpr (!std::is_same_v<T, float>) {
      if (a.casts) return launch<float>(a, how);
    }
    launch<T>(a, how);
  }

 private:
  template <class N>
  static void launch(const Append& a, const nbx_launch& how) {
    const AppendProgram<T, N, R> program{a.N,
                                         a.Hk,
                                         a.D,
                                         a.page_tokens,
                                         a.places(),
                                         a.tokens.as<const N>(),
                                         a.pool.as<T>(),
                                         a.slots.as<const std::int32_t>(),
                                         pack::layout<3>(a.tokens),
                                         pack::layout<4>(a.pool),
                                         pack::layout<1>(a.slots).stride[0]};
    pack::launched("append", tile::launch(program, program.blocks(), how));
  }
};

}  // namespace nbx::paged
