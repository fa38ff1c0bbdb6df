// Stands in for MLIR's header, which TensorFlow's wheel lacks. XLA's headers only pass the type by value; the real one
// is a pointer to an operation, so this has its size and is passed alike.
#pragma once
namespace mlir {
class ModuleOp {
  void* operation_ = nullptr;
};
}  // namespace mlir
