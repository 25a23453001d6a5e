# SPDX-License-Identifier: BSD-2-Clause
"""Lets PyTorch 1.13 begin ranges as 2.0 does: 1.13's Python calls another function of its library, which has no symbol;
the library has 2.0's, too."""
import torch
from torch.autograd.profiler import record_function


def range_init(self, name, args=None):
    self.name, self.args = name, args


def range_enter(self):
    self.record = torch.ops.profiler._record_function_enter_new(self.name, self.args)
    return self


def range_exit(self, *_):
    torch.ops.profiler._record_function_exit(self.record)


def begin_as_2_0():
    if torch.__version__.startswith("1."):
        record_function.__init__ = range_init
        record_function.__enter__, record_function.__exit__ = range_enter, range_exit
