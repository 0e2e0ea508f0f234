"""Scoring that every suite shares: calls executed afresh and compared, verdicts, and figures over them."""
