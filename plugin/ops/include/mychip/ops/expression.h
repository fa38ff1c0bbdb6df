// Operators over BodyBuilder, so that formulas read as formulas. A number takes the dtype of the value beside it.
#pragma once

#include "mychip/runtime/body.h"

namespace mychip::ops {

struct Ex {
  BodyBuilder* b;
  int id;

  DType dtype() const { return b->dtype(id); }
  Ex Num(double v) const { return {b, b->Const(dtype(), v)}; }
  Ex Unary(VOp op) const { return {b, b->Unary(op, id)}; }
  Ex Binary(VOp op, Ex o) const { return {b, b->Binary(op, id, o.id)}; }
  Ex To(DType t) const { return {b, b->Convert(t, id)}; }
};

inline Ex operator+(Ex x, Ex y) { return x.Binary(VOp::kAdd, y); }
inline Ex operator-(Ex x, Ex y) { return x.Binary(VOp::kSub, y); }
inline Ex operator*(Ex x, Ex y) { return x.Binary(VOp::kMul, y); }
inline Ex operator/(Ex x, Ex y) { return x.Binary(VOp::kDiv, y); }
inline Ex operator+(Ex x, double v) { return x + x.Num(v); }
inline Ex operator-(Ex x, double v) { return x - x.Num(v); }
inline Ex operator*(Ex x, double v) { return x * x.Num(v); }
inline Ex operator/(Ex x, double v) { return x / x.Num(v); }
inline Ex operator+(double v, Ex x) { return x.Num(v) + x; }
inline Ex operator-(double v, Ex x) { return x.Num(v) - x; }
inline Ex operator*(double v, Ex x) { return x.Num(v) * x; }
inline Ex operator/(double v, Ex x) { return x.Num(v) / x; }
inline Ex operator-(Ex x) { return x.Unary(VOp::kNeg); }
inline Ex Lt(Ex x, Ex y) { return x.Binary(VOp::kLt, y); }
inline Ex Gt(Ex x, Ex y) { return x.Binary(VOp::kGt, y); }
inline Ex Eq(Ex x, Ex y) { return x.Binary(VOp::kEq, y); }
inline Ex Lt(Ex x, double v) { return Lt(x, x.Num(v)); }
inline Ex Gt(Ex x, double v) { return Gt(x, x.Num(v)); }
inline Ex Eq(Ex x, double v) { return Eq(x, x.Num(v)); }
inline Ex And(Ex x, Ex y) { return x.Binary(VOp::kAnd, y); }
inline Ex Not(Ex x) { return x.Unary(VOp::kNot); }
inline Ex Max(Ex x, Ex y) { return x.Binary(VOp::kMax, y); }
inline Ex Min(Ex x, Ex y) { return x.Binary(VOp::kMin, y); }
inline Ex Select(Ex p, Ex x, Ex y) { return {p.b, p.b->Ternary(VOp::kSelect, p.id, x.id, y.id)}; }
inline Ex Exp(Ex x) { return x.Unary(VOp::kExp); }
inline Ex Expm1(Ex x) { return x.Unary(VOp::kExpm1); }
inline Ex Log(Ex x) { return x.Unary(VOp::kLog); }
inline Ex Log1p(Ex x) { return x.Unary(VOp::kLog1p); }
inline Ex Sqrt(Ex x) { return x.Unary(VOp::kSqrt); }
inline Ex Abs(Ex x) { return x.Unary(VOp::kAbs); }

}  // namespace mychip::ops
