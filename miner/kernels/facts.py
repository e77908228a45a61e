"""Facts of pairs of sentences: classes of English words, and what the other side says of them.

A fact is a class of words (negations, seven, Monday) that an English sentence has or lacks. Words
are compared as bytes of UTF-8, in lower case. Features of the other side are its token ids and
pairs of adjacent ones, hashed to buckets; sparse logistic regressions turn them into the
probability that the English side has each class.
"""

from miner.kernels.library import kernel

# Marks of a class in a sentence. Shared: in digits that the other side has, too. Excused: absent,
# but a word may stand for it. Wanted: absent, though the other side has it in digits. Only absent
# and present ones are learned from.
ABSENT, PRESENT, SHARED, EXCUSED, WANTED = range(5)
# Logit of a wanted class, at least.
WANTED_LOGIT = 1.0
# Tests of a class, as bits: it may be too much, it may be missing.
ADDED, MISSING = 1, 2
# Evidence of a kind: substituted, added, missing.
EVIDENCE = 3
# Most classes; numbers in two digits.
CLASSES, NUMBERS = 512, 100
# Bits of a bucket.
BITS = 22

# Marks the classes of the words of each text. ``words`` are FNV-1a hashes, ascending, with the
# classes from ``starts``, -1 - class for a word that excuses it; ``again`` is the class that a
# second word of a class has, or -1. ``numbers``: a word's number below `NUMBERS`; plus `NUMBERS`
# where it may be a part of one, as three of 23 and of 300, just that for hundred; or -1. ``parts``:
# the number of a class that is wanted where the other side has it in two digits.
read_facts = kernel(
    "read_facts(text: u1[b], offsets: i8[n+1], other: u1[c], other_offsets: i8[n+1], "
    "words: u8[w], starts: i4[w+1], classes: i4[l], numbers: i4[w], again: i4[k], parts: i4[k], "
    "&seen: u1[n, k])"
)
# Writes two buckets for each token: of itself, and of itself behind the token before it.
list_features = kernel(
    "list_fact_features(ids: i4[t], offsets: i8[n+1], bits: int, &buckets: i4[t, 2])"
)
# Counts features and classes that occur together. ``rows``: two rows of features for each token, -1
# for none.
count = kernel(
    "count_facts(rows: i4[t, 2], offsets: i8[n+1], seen: u1[n, k], &counts: i4[f, k]) -> memory"
)
# One pass of FTRL-Proximal over pairs in an order; a feature's weights are from ``starts``.
learn = kernel(
    "learn_facts(rows: i4[t, 2], offsets: i8[n+1], seen: u1[n, k], order: i8[m], starts: i4[f+1], "
    "classes: i4[l], rate: float, sparse: float, decay: float, &weights: f4[l], &bias: f4[k], "
    "&sums: f4[l], &squares: f4[l]) -> memory"
)
# Writes the logits of all classes. ``slots`` and ``places`` are a hash table of a power of two:
# buckets, or -1, and their features.
logits = kernel(
    "fact_logits(ids: i4[t], offsets: i8[n+1], bits: int, slots: i4[s], places: i4[s], "
    "starts: i4[f+1], classes: i4[l], weights: f4[l], bias: f4[k], &logits: f4[n, k]) -> memory"
)
# Raises the evidence of each kind (e = 3 times the kinds): the largest logit of an absent class
# minus that of a present one which excludes it (``others``), the negative of the least logit of a
# present class, and the largest logit of an absent one.
evidence = kernel(
    "fact_evidence(logits: f4[n, k], seen: u1[n, k], kinds: i4[k], tested: u1[k], "
    "starts: i4[k+1], others: i4[g], &out: f4[n, e])"
)
