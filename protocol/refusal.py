"""What keeps a contributor from being installed, changed or taken out."""

from greenroom.protocol.errors import OverBudget, Refused


class ContributorOverBudget(OverBudget):
    """A contributor as it is rendered needs more tokens than its budget has (R103, P102)."""

    code = "contributor_over_budget"
    way_out = "Shorten it, or declare a larger budget; nothing is ever cut."


class VersionTaken(Refused):
    """This version of the contributor is published, with other content (R138)."""

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
