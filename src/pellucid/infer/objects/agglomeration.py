"""Joining fragments to objects: those with the weakest boundary between them first.

Here: Contacts, join_contacts, agglomerate.
Not here: finding fragments and contacts (watershed, object_tasks).

The score of two objects is the mean boundary over their contact. Pairs that are each other's best are joined together:
joining others first cannot give either of them a better partner, because a mean is never below the smaller of two
numbers. So the result is that of joining one pair after the other.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from pellucid.formats.protocol import Voxels


@dataclass(frozen=True)
class Contacts:
    """Of fragments 0 to count - 1. first, second: those in contact, first below second. total: the sum of the boundary
    over the contact. area: its number of voxel faces. sizes: voxels of every fragment."""

    count: int
    first: Voxels
    second: Voxels
    total: Voxels
    area: Voxels
    sizes: Voxels

    @property
    def scores(self) -> Voxels:
        return self.total / self.area

    def relabelled(self, labels: Voxels, count: int) -> "Contacts":
        """After joining: the label of every fragment. Contacts of the same objects are added up."""
        first, second = labels[self.first], labels[self.second]
        kept = first != second
        low, high = np.minimum(first, second)[kept], np.maximum(first, second)[kept]
        sizes = np.bincount(labels, self.sizes, count).astype(self.sizes.dtype)
        return join_contacts(count, (low, high), (self.total[kept], self.area[kept]), sizes)


def join_contacts(count: int, pair: tuple[Voxels, Voxels], sums: tuple[Voxels, Voxels], sizes: Voxels) -> Contacts:
    """Contacts of the same two fragments become one."""
    keys = pair[0].astype(np.int64) * count + pair[1]
    unique, place = np.unique(keys, return_inverse=True)
    total, area = (np.bincount(place, one, len(unique)) for one in sums)
    return Contacts(count, unique // max(count, 1), unique % max(count, 1), total, area, sizes)


def agglomerate(contacts: Contacts, threshold: float, min_size: int = 0) -> Voxels:
    """The object of every fragment, from 0. threshold: objects with a weaker boundary between them are one. min_size:
    smaller objects are joined to the neighbour with the weakest boundary, whatever it is."""
    labels = np.arange(contacts.count)
    contacts, labels = _joined(contacts, labels, threshold)
    while min_size > 1:
        before = contacts.count
        small = contacts.sizes < min_size
        contacts, labels = _join_round(contacts, labels, small[contacts.first] | small[contacts.second])
        if contacts.count == before:
            break
    return labels


def _joined(contacts: Contacts, labels: Voxels, threshold: float) -> tuple[Contacts, Voxels]:
    while True:
        before = contacts.count
        contacts, labels = _join_round(contacts, labels, contacts.scores < threshold)
        if contacts.count == before:
            return contacts, labels


def _join_round(contacts: Contacts, labels: Voxels, allowed: Voxels) -> tuple[Contacts, Voxels]:
    """Join all pairs that are each other's best, of the contacts that are allowed."""
    first, second, scores = contacts.first[allowed], contacts.second[allowed], contacts.scores[allowed]
    if not len(first):
        return contacts, labels
    # Equal scores are ordered by the pair, so that all workers rank contacts in the same way.
    rank = np.empty(len(first), np.int64)
    rank[np.lexsort((second, first, scores))] = np.arange(len(first))
    best = np.full(contacts.count, len(first), np.int64)
    np.minimum.at(best, first, rank)
    np.minimum.at(best, second, rank)
    mutual = (best[first] == rank) & (best[second] == rank)
    count, merged = connected(contacts.count, first[mutual], second[mutual])
    return contacts.relabelled(merged, count), merged[labels]


def connected(count: int, first: Voxels, second: Voxels) -> tuple[int, Voxels]:
    """The number of groups that links join, and the group of each."""
    links = sparse.coo_matrix((np.ones(len(first), bool), (first, second)), (count, count))
    found, labels = csgraph.connected_components(links, directed=False)
    return int(found), labels
