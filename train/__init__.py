"""Training of encoders, imported as ``miner_train``: ``train`` would clash with users' modules.

In a clone ``miner_train`` is a link to this folder. Only the commands that train, and the
benchmarks, import it.
"""
