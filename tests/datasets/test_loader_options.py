"""The options that all loaders of data share: in the signature, in the documentation, and checked."""

import inspect
import re

import pytest
from grls import datasets

LOADERS = [name for name in datasets.__all__ if name.startswith("load_")]


@pytest.mark.parametrize("name", LOADERS)
def test_a_loader_documents_every_parameter_of_its_signature_once(name):
    load = getattr(datasets, name)
    doc = inspect.getdoc(load)
    assert load.__name__ == name
    for parameter in inspect.signature(load).parameters.values():
        assert parameter.kind is not inspect.Parameter.VAR_KEYWORD
        assert len(re.findall(rf"^{parameter.name} : ", doc, re.MULTILINE)) == 1, parameter.name
    assert doc.count("Parameters\n----------") == doc.count("Returns\n-------") == 1


def test_only_tables_with_named_columns_become_frames():
    with_frames = {n for n in LOADERS if "as_frame" in inspect.signature(getattr(datasets, n)).parameters}
    assert with_frames == {
        "load_airfoil",
        "load_california_housing",
        "load_mauna_loa",
        "load_mcycle",
        "load_meuse",
        "load_mnist",
        "load_ozone",
    }


def test_an_unknown_option_is_refused_by_the_loaders_name():
    with pytest.raises(TypeError, match=r"load_coil20\(\) got an unexpected keyword argument 'as_frame'"):
        datasets.load_coil20(as_frame=True)
    with pytest.raises(TypeError, match=r"load_binary\(\) missing a required argument: 'name'"):
        datasets.load_binary()
