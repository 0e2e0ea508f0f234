"""The command ``asyncguard ledger``: calls in the journal, for operators of agents."""
