#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Trainings of Debian's PyTorch, 1.13, or of that of $TORCH_PYTHON."""
import torchlib
import training_cases

training_cases.main(torchlib.debian)
