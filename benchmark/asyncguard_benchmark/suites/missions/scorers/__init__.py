"""Judgement of missions: `strict` accepts every legal schedule, `compat` repeats the published scorer."""
