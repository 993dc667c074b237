"""Saved profiles are of this library's classes."""

import functools
from dataclasses import dataclass

import pytest

from mechanisms.parameters import ParameterError
from mechanisms.profiles.bounding_profiles import PureProfile
from mechanisms.profiles.saved_profile import profile_from_dict, profile_to_dict


def test_a_users_class_with_names_of_the_librarys_is_neither_saved_nor_read():
    @functools.wraps(PureProfile, updated=())
    @dataclass(frozen=True)
    class Named(PureProfile):
        pass

    saved = profile_to_dict(PureProfile(1.0))
    with pytest.raises(ParameterError, match="only profiles of this library"):
        profile_to_dict(Named(1.0))
    assert type(profile_from_dict(saved)) is PureProfile
    with pytest.raises(ParameterError, match="is none of this library's"):
        profile_from_dict({**saved, "kind": ["PureProfile"]})
