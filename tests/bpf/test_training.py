#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Trainings with Debian's PyTorch 1.13, or with the PyTorch of $TORCH_PYTHON."""
import torchlib
import training_cases

training_cases.main(torchlib.debian)
