"""harmonium: training, sampling and reliable evaluation of restricted Boltzmann machines.

    import harmonium as hm

The modules and packages are listed below; each imports only from those above it in the list.

    errors, _base       exceptions; checks; numerics; random numbers; several devices
    layers, weights     types of units; forms of the weight matrix W
    rbm                 the model: energy, free energy, conditional distributions, transpose
    tables, sequences   tables of words, numbers and dates; alignments
    data, io, path      training data; model files; paths between models
    samplers, transforms   sampling; models built from rows or from other models
    likelihood          log Z, missing values, log-likelihoods
    gradients           estimators of the gradient of the likelihood
    evaluation, diagnostics, analysis   scores; mixing of chains; what a model learned
    inference           samples, conditional samples, answers to questions, imputed cells
    training            the training loop
    plot, report, sklearn, keras   plots; reports; scikit-learn and Keras interfaces
    runs                a complete run, from a data source to a folder of results
    cli                 the `harmonium` command

Public names are listed in `__init__.pyi` and imported on first use, so that `harmonium --help` need
not wait for JAX.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
