"""Group keys: those that a JavaScript tool computes for the same inputs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from passhat.comparing import CompareError, duplicate_keys, group_key, javascript_json

# (input as JSON text, its canonical JSON, its key in the first round)
VECTORS = [
    (
        '"What is the capital of France? Reply with only the city name."',
        '"What is the capital of France? Reply with only the city name."',
        '["fb8811b4590a235a599379cbf2e4f31d3fa295c83d076d744912d7dd2ee30607",1]',
    ),
    (
        '{"first":1,"second":[true,"value"]}',
        '{"first":1,"second":[true,"value"]}',
        '["da3d7628d7bc7372ca6c1047cfd484e6540add959eb2aa743ffcc4f1e77d5f69",1]',
    ),
    (
        '{"second":[true,"value"],"first":1}',
        '{"first":1,"second":[true,"value"]}',
        '["da3d7628d7bc7372ca6c1047cfd484e6540add959eb2aa743ffcc4f1e77d5f69",1]',
    ),
    (
        '["first","second"]',
        '["first","second"]',
        '["f5ca319099f6b777b72517eb1fd6c40d5fd45f43acd86c0ce687aed7b8a7a0f9",1]',
    ),
    (
        '["second","first"]',
        '["second","first"]',
        '["f18fe1abfeaca6eec74cb6f5550543b84958b24ee90d8a2cf8b6bfbd86a775e9",1]',
    ),
    ("null", "null", '["74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b",1]'),
    ("true", "true", '["b5bea41b6c623f7c09f1bf24dcae58ebab3c0cdd90ad966bc43a45b44867e12b",1]'),
    ("0", "0", '["5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",1]'),
    ("1", "1", '["6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",1]'),
    ("1.5", "1.5", '["9f29a130438b81170b92a42650f9a94291ecad60bd47af2a3886e75f7f728725",1]'),
    ("1e+21", "1e+21", '["241c4643fa70b1dcde1205b71be4e3bebb17e9f880c8e1a33d0ead6c27271d3c",1]'),
    ("1e-7", "1e-7", '["5b33e02f2c5103a05d32f6ba9cb058294452bfbf393967f68bb30c1bdcbbab22",1]'),
    (
        "123456789012345680000",
        "123456789012345680000",
        '["725abf175290195635e55a971cf88e02a46d6d56e964ec2d8bc47614b9559062",1]',
    ),
    (
        '{"9":2,"10":1,"b":3,"a":4}',
        '{"9":2,"10":1,"a":4,"b":3}',
        '["cb0951f22681444d06d41b19f4e31aaf050e154857590426c3af748382323499",1]',
    ),
    (
        '{"\xe9":1,"z":2,"\U0001f600":3,"\uffee":4}',
        '{"z":2,"\xe9":1,"\U0001f600":3,"\uffee":4}',
        '["dccb797173aa93a9ae2157aaa56d8075ee6b0d54aee4a2165f2a9c5a50c82e74",1]',
    ),
    ('"\xe9"', '"\xe9"', '["f2886017e9c7abacf804b54d64787dce2b611c9544ba21f3affdd126a6e50086",1]'),
    ('"line\u2028sep"', '"line\u2028sep"', '["47d7a1f9b809414cf3ce67eed567f691d3b4f08a839ae7d886bc80b27067ac5f",1]'),
    ('"\\ud800"', '"\\ud800"', '["8c0c59dd0d275aadcd462a5fe12eb352cbdfeaf961eae4f85a4660521df7d2f5",1]'),
    ('{"id":" input-1 ","prompt":"hello"}', '{"id":" input-1 ","prompt":"hello"}', '["input-1",1]'),
    (
        '{"id":"","prompt":"x"}',
        '{"id":"","prompt":"x"}',
        '["554ccd4c99a5167c3e162c35ff798dd7900dda2e2231ed99f01a4821629a5b7d",1]',
    ),
    (
        '{"id":"   ","prompt":"x"}',
        '{"id":"   ","prompt":"x"}',
        '["5aecae3fe626df1dbfd9b5ca55f9d2b6d1f74bd0a3f7a134cda3f5be56f0229f",1]',
    ),
    (
        '{"id":7,"prompt":"x"}',
        '{"id":7,"prompt":"x"}',
        '["dec00e8ba1b46a0b0aee8795172d26dbfd73113232d7a7e7fff8fb8338c921d6",1]',
    ),
]


@pytest.mark.parametrize(("text", "canonical", "key"), VECTORS)
def test_keys_are_those_of_the_reference_vectors(text: str, canonical: str, key: str) -> None:
    value = json.loads(text)
    assert javascript_json(value) == canonical
    assert group_key(value, 1) == key


def test_negative_zero_is_zero() -> None:
    assert group_key(-0.0, 1) == group_key(0, 1)


def test_the_id_is_trimmed_and_the_repetition_is_part_of_the_key() -> None:
    assert group_key({"id": " input-1 ", "other": 1}, 2) == '["input-1",2]'


@pytest.mark.parametrize("name", ["", "   ", 7, None])
def test_a_blank_or_other_id_falls_back_to_the_hash_of_the_whole_input(name: Any) -> None:
    key = json.loads(group_key({"id": name}, 1))
    assert len(key[0]) == 64
    assert key != json.loads(group_key({"id": name, "more": 1}, 1))


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ([float("nan")], r"input\[0\] is nan"),
        ({"a": float("inf")}, r"input\['a'\] is inf"),
        ({1: 2}, "keys must be text"),
        ({"a": {1, 2}}, "is a set"),
        (object(), "is a object"),
        (10**400, "finite numbers"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(value: Any, part: str) -> None:
    with pytest.raises(CompareError, match=part):
        group_key(value, 1)


def test_a_cycle_is_refused_and_a_repeated_reference_is_not() -> None:
    shared = {"x": 1}
    assert javascript_json([shared, shared]) == '[{"x":1},{"x":1}]'
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(CompareError, match="contains itself"):
        javascript_json(cycle)


@pytest.mark.parametrize("repetition", [0, -1, True, 1.5])
def test_a_repetition_counts_from_one(repetition: Any) -> None:
    with pytest.raises(CompareError, match="repetition"):
        group_key("a", repetition)


def test_two_inputs_with_one_id_are_reported_and_files_keep_apart() -> None:
    one, two = group_key({"id": "a", "n": 1}, 1), group_key({"id": "a", "n": 2}, 1)
    assert duplicate_keys([("f", "t", one), ("f", "t", two)]) == (("f", "t", one),)
    assert duplicate_keys([("f", "t", one), ("g", "t", two)]) == ()


def test_all_shared_vectors_agree() -> None:
    folder = Path(os.environ.get("PASSHAT_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")
    path = folder / "golden_keys.json"
    if not path.is_file():
        pytest.skip("the shared vectors are not here")
    for row in json.loads(path.read_text())["group_keys"]:
        value = -0.0 if row["is_negative_zero"] else json.loads(row["input_json"])
        assert (javascript_json(value), group_key(value, 1)) == (row["canonical"], row["group_key_rep1"])
