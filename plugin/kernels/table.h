// Registration tables: a kernel is a row. One function per group file registers its rows; no macros, no static objects.
#pragma once

#include <memory>
#include <vector>

#include "context.h"

namespace mychip::kernels {

struct Constraint {
  const char* attr;
  TypeSet types;
};

// Where the data lives: kHost rows compute on the host at once, over host memory (int32 shape arithmetic).
enum class Place { kDevice, kHost };

struct Row {
  const char* op;
  std::vector<Constraint> constraints;
  std::vector<const char*> host_memory;  // names of inputs and outputs in host memory
  void* (*create)(TF_OpKernelConstruction*);
  Place place = Place::kDevice;
};

void ReportFailure(TF_OpKernelConstruction* c, const Status& status);

// The create function of a row whose kernel class is K. K's constructor takes a Construction&.
template <class K>
void* New(TF_OpKernelConstruction* c) {
  Construction construction(c);
  auto kernel = std::make_unique<K>(construction);
  if (!construction.status().ok()) {
    ReportFailure(c, construction.status());
    return nullptr;
  }
  return static_cast<Kernel*>(kernel.release());
}

// With MYCHIP_NATIVE=0 only kHost rows are registered.
void Register(const std::vector<Row>& rows);

// The groups, one file each.
void RegisterElementwise();
void RegisterBitcast();
void RegisterMovement();
void RegisterBlocks();
void RegisterReductions();
void RegisterMatMul();
void RegisterConv();
void RegisterPool();
void RegisterGather();
void RegisterSegments();
void RegisterStitch();
void RegisterFft();
void RegisterNormalization();
void RegisterResize();
void RegisterNn();
void RegisterGenerators();
void RegisterRandom();
void RegisterStatefulRandom();
void RegisterInspection();

}  // namespace mychip::kernels
