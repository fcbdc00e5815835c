"""What tests of wrong input share."""

import re

import pytest

from harmonium.errors import InputError

GRAMMAR = re.compile(": expected .*(; got |, but )", re.DOTALL)


def refusal(call, *args, **options) -> str:
    """Return the message of the InputError that a call raises: one line of the usual form."""
    with pytest.raises(InputError) as caught:
        call(*args, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert GRAMMAR.search(message)
    return message
