"""The op table: every row drives eager, graph, jit and on-demand execution (test_ops.py)."""

import ops_array
import ops_blocks
import ops_image
import ops_math
import ops_nn
import ops_reduce
import ops_volume
from rows import Row, check_table

FILES = (ops_math, ops_reduce, ops_array, ops_blocks, ops_nn, ops_volume, ops_image)
ROWS: tuple[Row, ...] = tuple(row for file in FILES for row in file.ROWS)
BY_OP = {row.op: row for row in ROWS}

# Registered natively, tested elsewhere because a row cannot say it: op -> test file.
VARIABLES = (
    "AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp", "ResourceGather", "ResourceGatherNd",
    "ResourceScatterAdd",
    "ResourceScatterDiv", "ResourceScatterMax", "ResourceScatterMin", "ResourceScatterMul", "ResourceScatterNdAdd",
    "ResourceScatterNdMax", "ResourceScatterNdMin", "ResourceScatterNdSub", "ResourceScatterNdUpdate",
    "ResourceScatterSub", "ResourceScatterUpdate", "ResourceStridedSliceAssign", "VarHandleOp",
)  # fmt: skip
VALUES = (
    "CheckNumerics",
    "CheckNumericsV2",
    "RandomStandardNormal",
    "RandomUniform",
    "RandomUniformInt",
    "TruncatedNormal",
    "Where",
)
ADOPTED = (
    "AnonymousIteratorV3", "DeleteIterator", "GeneratorDataset", "IteratorGetNext", "IteratorGetNextAsOptional",
    "IteratorGetNextSync", "IteratorToStringHandle", "IteratorFromStringHandleV2", "IteratorV2", "MakeIterator",
    "OptionalFromValue", "OptionalGetValue", "OptionalHasValue", "OptionalNone",
    "PrefetchDataset", "UnwrapDatasetVariant", "WrapDatasetVariant",
)  # fmt: skip
SPARSE_RULES = (
    "Adadelta", "Adagrad", "AdagradDA", "AdagradV2", "CenteredRMSProp", "Ftrl", "FtrlV2", "KerasMomentum", "Momentum",
    "ProximalAdagrad", "ProximalGradientDescent", "RMSProp",
)  # fmt: skip
DENSE_RULES = (*SPARSE_RULES, "AdaMax", "Adam", "AdamWithAmsgrad", "AddSign", "GradientDescent", "PowerSign")
OPTIMIZERS = (
    *(f"ResourceApply{rule}" for rule in DENSE_RULES),
    *(f"ResourceSparseApply{rule}" for rule in SPARSE_RULES),
)
LISTS = (
    "TensorListFromTensor", "TensorListGather", "TensorListGetItem", "TensorListPopBack",
    "TensorListPushBack", "TensorListScatterV2", "TensorListSetItem", "TensorListStack",
)  # fmt: skip
ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(LISTS, "test_placement.py"),
    **dict.fromkeys(VARIABLES, "test_variables.py"),
    **dict.fromkeys(VALUES, "test_values.py"),
    **dict.fromkeys(ADOPTED, "test_bridge.py"),
    **dict.fromkeys(OPTIMIZERS, "test_optimizers.py"),
}

problems = list(check_table(ROWS))
if problems:
    raise AssertionError("\n".join(problems))
