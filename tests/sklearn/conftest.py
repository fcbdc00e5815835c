"""A selection of scikit-learn's checks for `make test`; `make laws` runs all of them."""

from registry import ALL

CHECKS = "test_estimators_are_what_scikit_learn_expects"


def pytest_collection_modifyitems(config, items):
    """Deal the checks out to the estimators in turn: they share a base and compile alike."""
    checks: dict[str, list] = {}
    for item in items:
        if getattr(item, "originalname", "") == CHECKS:
            name = str(item.callspec.params["check"])
            checks.setdefault(name.split("(")[1].split(",")[0], []).append(item)
    kept = {id(those[i % len(those)]) for i, those in enumerate(checks.values())}
    spare = {id(item) for those in checks.values() for item in those} - kept
    if not ALL:
        config.hook.pytest_deselected(items=[item for item in items if id(item) in spare])
        items[:] = [item for item in items if id(item) not in spare]
