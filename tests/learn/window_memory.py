"""How much memory a process that prepares windows uses. In a module of its own: workers of a DataLoader import it.

Here: resident_kib, and Resident, a dataset whose items say it.
Not here: tests.
"""

import os
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset


def resident_kib() -> int:
    """Of this process, without what it shares with others."""
    pages = Path("/proc/self/statm").read_text().split()
    return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE") // 1024


class Resident(Dataset[Any]):
    """Items of a dataset, with the memory of the process that made them."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[index], torch.tensor(resident_kib())
