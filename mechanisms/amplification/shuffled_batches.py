"""A pass over shuffled records, with a mechanism on each batch: every record is in one batch."""

from __future__ import annotations

from dataclasses import dataclass

from mechanisms.delegation import delegated
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.profiles.related_profile import SameCurve

BOUND = "shuffled batches: the one that a record is in"


@dataclass(frozen=True)
class ShuffledBatchesProfile(SameCurve):
    """Upper curve of a pass: a mechanism on each batch of a partition of the records that is drawn without the data.

    **Theorem.** For records that are replaced, or zeroed out, so that their number is fixed, a pass is dominated by one
    release of the mechanism.

    *Proof.* Given the partition, on which δ depends convexly, the batches without the record are the same in both data
    sets: their releases depend on earlier ones by the same kernel. The one with it is dominated by the mechanism's
    pair, given any earlier releases (Zhu, Dong, Wang 2022, Thm 10). []

    The order is secret, which could lower the loss; that is not used here. It is another law than random allocation's:
    there the rest of a batch does not depend on the record's place, here another record takes its place elsewhere. A
    record that is *added* moves others to other batches; that case is not covered.

    Parameters
    ----------
    profile : PrivacyProfile
        The mechanism's profile on one batch, for the same relation.
    """

    neighbouring = delegated("profile.neighbouring")

    @property
    def bound(self) -> str:
        """The theorem: no data are known to attain it."""
        return BOUND

    def attained(self) -> tuple[PrivacyProfile, ...]:
        """Return no pair: none is known to lose as much."""
        return ()
