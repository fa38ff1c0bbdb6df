#include "scratch.h"

#include <algorithm>
#include <new>
#include <vector>

namespace mychip::emulator {
namespace {

constexpr size_t kBlockBytes = 1 << 20;
constexpr size_t kKeepBytes = 8 << 20;  // larger blocks go back when their scope ends
constexpr std::align_val_t kAlign{64};

struct Block {
  char* data;
  size_t size;
};

struct Stack {
  std::vector<Block> blocks;
  size_t block = 0, used = 0;  // blocks before `block` are full; `used` bytes of it are taken

  ~Stack() {
    for (const Block& b : blocks) ::operator delete(b.data, kAlign);
  }
  void* Allocate(size_t bytes) {
    bytes = (bytes + 63) & ~size_t{63};
    while (block < blocks.size() && used + bytes > blocks[block].size) ++block, used = 0;
    if (block == blocks.size()) {
      const size_t size = std::max(bytes, kBlockBytes);
      blocks.reserve(blocks.size() + 1);
      blocks.push_back({static_cast<char*>(::operator new(size, kAlign)), size});
      used = 0;
    }
    void* result = blocks[block].data + used;
    used += bytes;
    return result;
  }
  void Release(size_t to_block, size_t to_used) {
    block = to_block, used = to_used;
    while (blocks.size() > block + 1 && blocks.back().size > kKeepBytes) {
      ::operator delete(blocks.back().data, kAlign);
      blocks.pop_back();
    }
  }
};

thread_local Stack t_stack;

}  // namespace

Scratch::Scratch() : block_(t_stack.block), used_(t_stack.used) {}
Scratch::~Scratch() { t_stack.Release(block_, used_); }
void* Scratch::Allocate(size_t bytes) { return t_stack.Allocate(bytes); }

}  // namespace mychip::emulator
