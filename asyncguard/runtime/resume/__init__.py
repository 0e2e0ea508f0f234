"""Apply the fate table to open calls: gather the facts, look up the fate, carry it out.

:mod:`asyncguard.core.resume_policy` decides about a call after a loss, a fork, a takeover, a
cancellation, a new message or a missing wrapper. Only this package asks it, and only this package
records the events by which such a call ends or is queued again.

``resolve`` is the way in. A ``case`` is one decision with its inputs. Of ``facts`` there is one
function for each, which reads session, journal and registry and changes nothing. Of ``fates``
there is one function for each, listed in :data:`~asyncguard.runtime.resume.fates.CARRIED_OUT`;
those that continue with an attempt which is already under way or has ended are in
``made_attempts``.

Internal; :mod:`asyncguard` names the public interface.
"""
