"""Refusals of one part each: of installing contributors and plugins, of exports, of spending."""

from greenroom.protocol.errors import InvalidInput, OverBudget, Refused


class ContributorOverBudget(OverBudget):
    """A contributor as it is rendered needs more tokens than its budget has (R103, P102)."""

    code = "contributor_over_budget"
    way_out = "Shorten it, or declare a larger budget; nothing is ever cut."


class WrongPlacement(Refused):
    """A contribution stands wider than what it varies by, or than what it reaches (R134, R137)."""

    code = "wrong_placement"
    way_out = "Choose a narrower placement, or take out what varies."


class VersionTaken(Refused):
    """This version of the contributor or plugin is published, with other content (R138)."""

    code = "version_taken"
    status = 409
    way_out = "Publish the change as another version; the old one stays readable."


class UnknownContributor(Refused):
    """No contributor of this name or version is installed."""

    code = "unknown_contributor"
    status = 404
    way_out = "Name one that is installed, or install it first."


class NotAuthorized(Refused):
    """The authority of the contributor's owner did not allow it (R135)."""

    code = "not_authorized"
    status = 403
    way_out = "Ask whoever decides for that owner, or declare it as your own."


class WritesUnapproved(Refused):
    """An eager run would call a tool that writes; nobody approved that version for it (R149)."""

    code = "writes_unapproved"
    status = 403
    way_out = "Approve exactly that version, or run a tool that only reads."


class BadPlugin(InvalidInput):
    """A folder or archive cannot be a plugin; ``facts['where']`` says where in it (R162)."""

    code = "bad_plugin"
    way_out = "Mend the package as the message says; nothing of it was installed."


class UntrustedPlugin(Refused):
    """A plugin asks for more than text and tools that read, of an owner who may not (R165)."""

    code = "untrusted_plugin"
    status = 403
    way_out = "Take that out of the plugin, or have it owned by the operator or the workspace."


class NotAsShown(Refused):
    """The digest that was approved is not that of what is proposed (R163)."""

    code = "not_as_shown"
    status = 409
    way_out = "Look at the proposal as it is now, and approve the digest that stands below it."


class UnknownPlugin(Refused):
    """No plugin of this name and version was proposed, or it does not stand as it would have to."""

    code = "unknown_plugin"
    status = 404
    way_out = "Name one that is listed, or propose it first."


class BadExport(InvalidInput):
    """These lines are no export of a session, or not as they were written (R191)."""

    code = "bad_export"
    way_out = "Nothing was stored; take another copy of it, or export the session again."


class ExportTooNew(BadExport):
    """A newer greenroom wrote the export (R191)."""

    code = "export_too_new"
    way_out = "Nothing was stored; import it with a newer greenroom."


class OverQuota(Refused):
    """The tenant's quota has no room; ``facts`` tell cap, charged, reserved, needed (R233).

    ``facts['renews']`` is when the next period begins, in milliseconds since 1970, UTC.
    """

    code = "over_quota"
    status = 429
    way_out = "Send it again when the quota has renewed, or raise the tenant's quota."


class QuotaFailed(Refused):
    """The host's own ``Policy.quota`` raised, or gave what is no quota (R233)."""

    code = "quota_failed"
    status = 503
    way_out = "Mend the function that is given as Policy.quota; then send it again."
