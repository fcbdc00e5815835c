"""A selection of scikit-learn's checks for `make test`; `make laws` runs all of them.

Each check runs with one of the estimators that it applies to. What costs time is to compile, which
is done once for an estimator and a shape of the rows. So checks that fit rows of the same shape go
to the same estimator, as listed here; all others are dealt out to the estimators in turn. Each
estimator meets checks of its parameters, its inputs' types and shapes, and its results.
"""

from registry import ALL

CHECKS = "test_estimators_are_what_scikit_learn_expects"
TOGETHER = {
    "BernoulliRBM": [
        # 30 rows of 3 columns, which are complete, as a cell that is missing is another program
        "check_estimators_pickle",
        "check_sample_weights_list",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
        "check_transformer_data_not_an_array",
        # 100 rows of 2 columns
        "check_fit_check_is_fitted",
        "check_n_features_in",
        # 15 and 27 rows of 30 columns
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    "RBM": [
        # 20 rows of 3 columns
        "check_dont_overwrite_parameters",
        "check_f_contiguous_array_estimator",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_dict_unchanged",
        "check_fit2d_predict1d",
        # 12 rows of 2 columns
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
    ],
    "RBMClassifier": [
        # 30 rows of 3 columns
        "check_fit_score_takes_y",
        "check_supervised_y_2d",
        "check_pipeline_consistency",
        # 16 rows of 2 columns
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
    ],
    "RBMImputer": [
        # 21 rows of 2 columns
        "check_estimators_overwrite_params",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
    ],
}


def pytest_collection_modifyitems(config, items):
    """Deal the checks out to the estimators."""
    checks: dict[str, list] = {}
    for item in items:
        if getattr(item, "originalname", "") == CHECKS:
            checks.setdefault(item.callspec.params["check"].func.__name__, []).append(item)
    spare = set()
    for turn, (name, those) in enumerate(checks.items()):
        near = [item for item in those if name in TOGETHER.get(_estimator(item), ())] or those
        chosen = near[turn % len(near)]
        spare |= {id(item) for item in those if item is not chosen}
    if not ALL:
        config.hook.pytest_deselected(items=[item for item in items if id(item) in spare])
        items[:] = [item for item in items if id(item) not in spare]


def _estimator(item) -> str:
    return type(item.callspec.params["estimator"]).__name__
