"""The other side of test_ops.OnDemand: reads (op, dtype, cases) pickled from stdin, answers with the outcomes."""

import os
import pickle
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # whatever prints to stdout must not get between the answers

import tensorflow as tf  # noqa: E402
from ops import BY_OP  # noqa: E402
from paths import Prepared, outcomes  # noqa: E402

if __name__ == "__main__":
    tf.config.set_soft_device_placement(False)
    while True:
        try:
            op, dtype, cases = pickle.load(sys.stdin.buffer)
        except EOFError:
            break
        prepared = Prepared(BY_OP[op], dtype, cases, gradients=False)
        pickle.dump(outcomes(prepared, "MYCHIP:0", "eager"), answers)
        answers.flush()
