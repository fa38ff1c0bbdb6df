// The formulas, as TensorFlow's CPU kernels state them.
#include "mychip/ops/optimizer.h"

namespace mychip::ops {
namespace {

Ex Sign(Ex x) { return x.Unary(VOp::kSign); }
Ex Rsqrt(Ex x) { return x.Unary(VOp::kRsqrt); }
Ex Pow(Ex x, Ex y) { return x.Binary(VOp::kPow, y); }

// Towards 0 by l1, then smaller by l2: the proximal operator.
Ex Shrunk(Ex x, Ex rate, Ex l1, Ex l2) {
  const Ex cut = Sign(x) * Max(Abs(x) - rate * l1, x.Num(0));
  return Select(Gt(l1, 0), cut, x) / (1 + l2 * rate);
}

// m moves towards x by 1 - beta.
Ex Towards(Ex m, Ex x, Ex beta) { return m + (x - m) * (1 - beta); }

// scalars: alpha
void GradientDescent(Ex* s, const Ex* c, Ex g, bool) { s[0] = s[0] - c[0] * g; }

// alpha, l1, l2
void ProximalGradientDescent(Ex* s, const Ex* c, Ex g, bool) { s[0] = Shrunk(s[0] - g * c[0], c[0], c[1], c[2]); }

// lr
void Adagrad(Ex* s, const Ex* c, Ex g, bool update_slots) {
  if (update_slots) s[1] = s[1] + g * g;
  s[0] = s[0] - g * c[0] * Rsqrt(s[1]);
}

// lr, epsilon
void AdagradV2(Ex* s, const Ex* c, Ex g, bool update_slots) {
  if (update_slots) s[1] = s[1] + g * g;
  s[0] = s[0] - g * c[0] / (Sqrt(s[1]) + c[1]);
}

// lr, l1, l2, global_step
void AdagradDA(Ex* s, const Ex* c, Ex g, bool) {
  s[1] = s[1] + g;
  s[2] = s[2] + g * g;
  const Ex cut = Sign(s[1]) * Max(Abs(s[1]) - c[1] * c[3], g.Num(0));
  s[0] = -(c[0] * Select(Gt(c[1], 0), cut, s[1])) / (c[2] * c[3] * c[0] + Sqrt(s[2]));
}

// lr, l1, l2
void ProximalAdagrad(Ex* s, const Ex* c, Ex g, bool) {
  s[1] = s[1] + g * g;
  const Ex rate = c[0] * Rsqrt(s[1]);
  s[0] = Shrunk(s[0] - g * rate, rate, c[1], c[2]);
}

// lr, rho, epsilon
void Adadelta(Ex* s, const Ex* c, Ex g, bool) {
  s[1] = s[1] * c[1] + g * g * (1 - c[1]);
  const Ex update = Sqrt(s[2] + c[2]) * Rsqrt(s[1] + c[2]) * g;
  s[0] = s[0] - update * c[0];
  s[2] = s[2] * c[1] + update * update * (1 - c[1]);
}

// lr, momentum
void Momentum(Ex* s, const Ex* c, Ex g, bool nesterov) {
  s[1] = s[1] * c[1] + g;
  s[0] = s[0] - (nesterov ? g * c[0] + s[1] * c[1] * c[0] : s[1] * c[0]);
}

// lr, momentum
void KerasMomentum(Ex* s, const Ex* c, Ex g, bool nesterov) {
  s[1] = s[1] * c[1] - g * c[0];
  s[0] = s[0] + (nesterov ? s[1] * c[1] - g * c[0] : s[1]);
}

// beta1_power, beta2_power, lr, beta1, beta2, epsilon
Ex AdamRate(const Ex* c) { return c[2] * Sqrt(1 - c[1]) / (1 - c[0]); }

void Adam(Ex* s, const Ex* c, Ex g, bool nesterov) {
  s[1] = Towards(s[1], g, c[3]);
  s[2] = Towards(s[2], g * g, c[4]);
  const Ex direction = nesterov ? g * (1 - c[3]) + c[3] * s[1] : s[1];
  s[0] = s[0] - direction * AdamRate(c) / (Sqrt(s[2]) + c[5]);
}

void AdamWithAmsgrad(Ex* s, const Ex* c, Ex g, bool) {
  s[1] = Towards(s[1], g, c[3]);
  s[2] = Towards(s[2], g * g, c[4]);
  s[3] = Max(s[3], s[2]);
  s[0] = s[0] - s[1] * AdamRate(c) / (Sqrt(s[3]) + c[5]);
}

// beta1_power, lr, beta1, beta2, epsilon
void AdaMax(Ex* s, const Ex* c, Ex g, bool) {
  s[1] = Towards(s[1], g, c[2]);
  s[2] = Max(c[3] * s[2], Abs(g));
  s[0] = s[0] - c[1] / (1 - c[0]) * (s[1] / (s[2] + c[4]));
}

// lr, rho, momentum, epsilon
void RmsProp(Ex* s, const Ex* c, Ex g, bool) {
  s[1] = Towards(s[1], g * g, c[1]);
  s[2] = s[2] * c[2] + g * c[0] / Sqrt(s[1] + c[3]);
  s[0] = s[0] - s[2];
}

void CenteredRmsProp(Ex* s, const Ex* c, Ex g, bool) {
  s[2] = Towards(s[2], g * g, c[1]);
  s[1] = Towards(s[1], g, c[1]);
  s[3] = s[3] * c[2] + g * c[0] / Sqrt(s[2] - s[1] * s[1] + c[3]);
  s[0] = s[0] - s[3];
}

// lr, alpha, sign_decay, beta
void AddSign(Ex* s, const Ex* c, Ex g, bool) {
  s[1] = s[1] * c[3] + g * (1 - c[3]);
  s[0] = s[0] - c[0] * (c[1] + c[2] * (Sign(g) * Sign(s[1]))) * g;
}

// lr, logbase, sign_decay, beta
void PowerSign(Ex* s, const Ex* c, Ex g, bool) {
  s[1] = s[1] * c[3] + g * (1 - c[3]);
  s[0] = s[0] - c[0] * Exp(c[1] * c[2] * (Sign(g) * Sign(s[1]))) * g;
}

void FollowRegularised(Ex* s, Ex g, Ex shrunk, Ex lr, Ex l1, Ex l2, Ex power, bool by_rate) {
  const Ex accumulated = s[1] + g * g;
  const Ex now = Pow(accumulated, -power), before = Pow(s[1], -power);
  s[2] = s[2] + (by_rate ? shrunk * lr - (now - before) * s[0] : shrunk - (now - before) / lr * s[0]);
  const Ex limit = by_rate ? l1 * lr : l1;
  const Ex slope = by_rate ? now + 2 * (l2 * lr) : now / lr + 2 * l2;
  s[0] = Select(Gt(Abs(s[2]), limit), (limit * Sign(s[2]) - s[2]) / slope, g.Num(0));
  s[1] = accumulated;
}

// lr, l1, l2, lr_power
void Ftrl(Ex* s, const Ex* c, Ex g, bool by_rate) { FollowRegularised(s, g, g, c[0], c[1], c[2], c[3], by_rate); }

// lr, l1, l2, l2_shrinkage, lr_power
void FtrlV2(Ex* s, const Ex* c, Ex g, bool by_rate) {
  FollowRegularised(s, g, g + 2 * (c[3] * s[0]), c[0], c[1], c[2], c[4], by_rate);
}

}  // namespace

const std::vector<Optimizer>& Optimizers() {
  static const std::vector<Optimizer> table = {
      {"GradientDescent", 1, 1, GradientDescent, nullptr, true, false, true},
      {"ProximalGradientDescent", 1, 3, ProximalGradientDescent, nullptr, true, true, false},
      {"Adagrad", 2, 1, Adagrad, "update_slots", true, true, true},
      {"AdagradV2", 2, 2, AdagradV2, "update_slots", true, true, true},
      {"AdagradDA", 3, 4, AdagradDA, nullptr, true, true, false},
      {"ProximalAdagrad", 2, 3, ProximalAdagrad, nullptr, true, true, false},
      {"Adadelta", 3, 3, Adadelta, nullptr, true, true, true},
      {"Momentum", 2, 2, Momentum, "use_nesterov", true, true, true},
      {"KerasMomentum", 2, 2, KerasMomentum, "use_nesterov", true, true, true},
      {"Adam", 3, 6, Adam, "use_nesterov", true, false, true},
      {"AdamWithAmsgrad", 4, 6, AdamWithAmsgrad, nullptr, true, false, false},
      {"AdaMax", 3, 5, AdaMax, nullptr, true, false, false},
      {"RMSProp", 3, 4, RmsProp, nullptr, true, true, true},
      {"CenteredRMSProp", 4, 4, CenteredRmsProp, nullptr, true, true, true},
      {"AddSign", 2, 4, AddSign, nullptr, true, false, false},
      {"PowerSign", 2, 4, PowerSign, nullptr, true, false, false},
      {"Ftrl", 3, 4, Ftrl, "multiply_linear_by_lr", true, true, false},
      {"FtrlV2", 3, 5, FtrlV2, "multiply_linear_by_lr", true, true, false},
  };
  return table;
}

}  // namespace mychip::ops
