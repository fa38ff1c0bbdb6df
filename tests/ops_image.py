"""Image resizing, batch normalisation, Fourier transforms."""

from typing import Any

from rows import FLOATS, NUMBERS, Row, t

# images, size
SIZES: tuple[tuple[tuple[int, ...], list[int]], ...] = (
    ((2, 4, 6, 3), [8, 12]),
    ((1, 7, 5, 2), [3, 4]),
    ((1, 4, 6, 1), [4, 6]),
    ((2, 1, 1, 3), [3, 5]),
    ((1, 5, 4, 2), [1, 9]),
    ((0, 4, 6, 3), [2, 2]),
    ((1, 33, 29, 8), [20, 64]),
)
CENTERS = ((False, False), (True, False), (False, True))  # align_corners, half_pixel_centers


def resize_cases(argument: str = "images", **more: Any) -> tuple[dict[str, Any], ...]:
    return tuple(
        {argument: t(*shape, **more), "size": size, "align_corners": align, "half_pixel_centers": half}
        for shape, size in SIZES
        for align, half in CENTERS
    )


def gradient_cases() -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "grads": t(shape[0], *size, shape[3], dtype="float32"),
            "original_image": t(*shape),
            "align_corners": align,
            "half_pixel_centers": half,
        }
        for shape, size in SIZES
        if shape[0]
        for align, half in CENTERS
    )


NO_LOWERING: dict[str, Any] = {"jit": False, "why": "TensorFlow has no lowering"}
# XLA's lowerings are convolutions with the weights, other sums than the CPU's.
BILINEAR: dict[str, Any] = {
    "jit_dtypes": ("float32",), "why": "the lowering is for float32", "exact": False, "scale": "max",
}  # fmt: skip

# x, data_format
NORMALISED: tuple[tuple[tuple[int, ...], str], ...] = (
    ((2, 5, 4, 3), "NHWC"),
    ((1, 1, 1, 4), "NHWC"),
    ((4, 16, 15, 8), "NHWC"),
)
VOLUMES: tuple[tuple[tuple[int, ...], str], ...] = (((2, 3, 4, 5, 3), "NDHWC"),)


def norm_cases(op: str, shapes: tuple[tuple[tuple[int, ...], str], ...], gradient: bool) -> tuple[dict[str, Any], ...]:
    kind = None if op in ("FusedBatchNorm", "FusedBatchNormGrad") else "float32"
    cases = []
    for shape, data_format in shapes:
        channels = {"dtype": kind}
        scale, center = t(shape[-1], domain="positive", **channels), t(shape[-1], **channels)
        spread = t(shape[-1], domain="positive", **channels)
        # Over volumes TensorFlow's CPU kernel leaves the statistics of an inference uninitialised.
        for training in (True, False) if gradient or data_format == "NHWC" else (True,):
            attrs = {"epsilon": 0.001, "is_training": training, "data_format": data_format}
            if gradient:
                third = {"reserve_space_3": t(dtype="float32")} if op.endswith("V3") else {}
                cases.append(
                    {"y_backprop": t(*shape), "x": t(*shape), "scale": t(shape[-1], domain="positive", dtype="float32"),
                     "reserve_space_1": center, "reserve_space_2": spread, **third, **attrs}
                )  # fmt: skip
                continue
            tensors = {"x": t(*shape), "scale": scale, "offset": center}
            factors = (1.0, 0.25) if training else (1.0,)
            for factor in factors:
                cases.append({**tensors, "mean": center, "variance": spread, "exponential_avg_factor": factor, **attrs})
    return tuple(cases)


def first_outputs(op: str, count: int) -> Any:
    """Calls the op and leaves out the outputs behind `count`, which only cuDNN gives a meaning."""

    def call(**arguments: Any) -> Any:
        import tensorflow as tf

        return list(getattr(tf.raw_ops, op)(**arguments))[:count]

    return call


def norm(op: str, dtypes: tuple[str, ...], gradient: bool) -> Row:
    shapes = NORMALISED + (VOLUMES if op.endswith("V3") else ())
    return Row(
        op, norm_cases(op, shapes, gradient), dtypes, 64 if gradient else 16, scale="max", exact=False,
        call=first_outputs(op, 3 if gradient else 5),
    )  # fmt: skip


COMPLEX = ("complex64", "complex128")
FOURIER: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((8,), (3, 5), (2, 3, 16), (0, 4), (1,)),
    2: ((4, 8), (2, 3, 5), (1, 1)),
    3: ((2, 4, 8), (2, 3, 5, 2)),
}


def fft(op: str, rank: int) -> Row:
    # Both libraries round differently; an ULP is taken at the largest value.
    return Row(op, tuple({"input": t(*shape)} for shape in FOURIER[rank]), COMPLEX, 16, scale="max", exact=False)


def lengths(shape: tuple[int, ...], rank: int, change: int) -> list[int]:
    return [max(1, n + change) for n in shape[-rank:]]


def rfft(op: str, rank: int) -> Row:
    cases = tuple(
        {"input": t(*shape), "fft_length": lengths(shape, rank, change), "Tcomplex": "@complex"}
        for shape in FOURIER[rank]
        for change in (0, -1)
    )
    return Row(op, cases, ("float32", "float64"), 16, scale="max", exact=False)


def irfft(op: str, rank: int) -> Row:
    cases = tuple(
        {"input": t(*shape[:-1], shape[-1] // 2 + 1), "fft_length": lengths(shape, rank, change), "Treal": "@real"}
        for shape in FOURIER[rank]
        for change in (0, -1)
    )
    return Row(op, cases, COMPLEX, 16, scale="max", exact=False)


ROWS = (
    Row("ResizeNearestNeighbor", resize_cases(), NUMBERS),
    Row("ResizeBilinear", resize_cases(), NUMBERS, 8, **BILINEAR),
    Row("ResizeBicubic", resize_cases(), NUMBERS, 16, scale="max", exact=False, **NO_LOWERING),
    Row(
        "ResizeArea",
        tuple({"images": t(*shape), "size": size, "align_corners": align} for shape, size in SIZES
              for align in (False, True)),
        NUMBERS, 16, scale="max", exact=False, **NO_LOWERING,
    ),
    Row(
        "ResizeNearestNeighborGrad",
        tuple(
            {"grads": t(shape[0], *size, shape[3]), "size": list(shape[1:3]), "align_corners": align,
             "half_pixel_centers": half}
            for shape, size in SIZES for align, half in CENTERS
        ),
        (*FLOATS, "int32"), 4, scale="max", **NO_LOWERING,
    ),
    Row("ResizeBilinearGrad", gradient_cases(), FLOATS, 16, single=True, **BILINEAR),
    Row(
        "ResizeBicubicGrad", gradient_cases(), ("float32", "float64"), 16, scale="max", exact=False, single=True,
        **NO_LOWERING,
    ),
    norm("FusedBatchNorm", ("float32",), False),
    norm("FusedBatchNormV2", FLOATS, False),
    norm("FusedBatchNormV3", FLOATS, False),
    norm("FusedBatchNormGrad", ("float32",), True),
    norm("FusedBatchNormGradV2", FLOATS, True),
    norm("FusedBatchNormGradV3", FLOATS, True),
    *(fft(f"{kind}{suffix}", rank) for kind in ("FFT", "IFFT") for rank, suffix in ((1, ""), (2, "2D"), (3, "3D"))),
    *(rfft(f"RFFT{suffix}", rank) for rank, suffix in ((1, ""), (2, "2D"), (3, "3D"))),
    *(irfft(f"IRFFT{suffix}", rank) for rank, suffix in ((1, ""), (2, "2D"), (3, "3D"))),
)  # fmt: skip
