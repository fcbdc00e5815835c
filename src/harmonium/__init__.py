"""harmonium: restricted Boltzmann machines, trained, sampled and honestly scored.

    import harmonium as hm

The packages, each importing only from those above it in this list:

    errors, _base       what can be raised; checks; stable functions; random numbers; many devices
    layers, weights     what a unit is; what W is kept as
    rbm                 the model: energy, free energy, conditionals, `.T`
    tables, sequences   tables of words, numbers and dates; alignments
    data, io, path      rows to learn from; model files; lines of models
    samplers, transforms   how states are drawn; a model from rows or from another model
    likelihood          log Z, missing values, log-likelihoods
    gradients           estimators of the gradient of the likelihood
    evaluation, diagnostics, analysis   how good a model is; how its chains mix; what it learned
    inference           samples, conditional samples, answers to questions, imputed cells
    training            the loop
    plot, report, sklearn, keras   pictures; pages; the scikit-learn and Keras interfaces
    runs                a run from a source to a folder
    cli                 the command

The names are listed in `__init__.pyi`, and imported on first use, so that `harmonium --help` need
not wait for JAX.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
