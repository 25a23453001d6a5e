#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 2400
"""Trainings with PyPI's newer PyTorch. The first run fetches PyTorch, which takes as long as the network does."""
import torchlib
import training_cases

training_cases.main(torchlib.pypi)
