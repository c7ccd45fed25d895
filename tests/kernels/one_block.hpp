// A tile operation by itself: one block on the CPU, its items in a chosen order.
#pragma once

#include "kernels/tile/block.hpp"

namespace nbx::test {

inline constexpr nbx_order orders[] = {NBX_FORWARD, NBX_REVERSE, NBX_STRIDED, NBX_SHUFFLED};

template <class Body>
struct OneBlock {
  Body body;
  std::size_t tile_bytes() const { return 1U << 20; }
  void operator()(tile::CpuBlock& block) const { body(block); }
};

template <class Body>
void run_block(nbx_order items, const Body& body) {
  nbx_launch how{};
  how.struct_size = sizeof how;
  how.item_order = items;
  how.order_seed = 5;
  tile::launch(OneBlock<Body>{body}, 1, how);
}

}  // namespace nbx::test
