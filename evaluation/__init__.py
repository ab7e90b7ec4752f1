# SPDX-License-Identifier: Apache-2.0
"""The evaluation of the papers, on this machine: `readmost bench` and `readmost report`.

docs/evaluation.md explains how it measures, how to read it, and how to add a figure.
"""
