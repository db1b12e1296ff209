"""Which places are known to be those of models that cost money, however their names are written."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from passhat.gateway import KNOWN, PROVIDERS
from passhat.pytest_plugin._guard import Astray, Guard


class Owner:
    """Lets nothing through, and says whether the client could have been led."""

    def whose(self) -> str:
        return ""

    def astray(self, host: str, led: bool, named: str = "") -> str:
        return "led" if led else "other"

    def for_child(self, environ: Mapping[str, str]) -> Mapping[str, str]:
        return environ

    def keys(self) -> Mapping[str, str]:
        return {}


def seen(host: str, port: int = 443, **environ: str) -> str:
    """What a guard says of a request; empty where it lets it through."""
    try:
        Guard(environ, Owner()).check(host, port)
    except Astray as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "host",
    [
        *("api.openai.com", "API.OpenAI.com", "api.openai.com.", "eu.api.openai.com", "us.api.openai.com"),
        *("api.anthropic.com", "API.ANTHROPIC.COM."),
    ],
)
def test_a_host_of_a_provider_whose_clients_are_led_is_known_in_every_spelling_and_region(host: str) -> None:
    assert seen(host) == seen(host, 80) == "led"


@pytest.mark.parametrize(
    "host",
    [
        *("Mine.OPENAI.azure.com.", "models.inference.ai.azure.com", "models.github.ai", "api.groq.com"),
        *("bedrock-runtime.us-east-1.amazonaws.com", "bedrock-runtime-fips.us-east-1.amazonaws.com"),
        *("vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com", "bedrock-mantle.us-east-1.api.aws"),
        *("us-central1-aiplatform.googleapis.com", "aiplatform.googleapis.com", "api-inference.huggingface.co"),
        *("generativelanguage.googleapis.com", "dashscope-intl.aliyuncs.com", "codestral.mistral.ai"),
        *("integrate.api.nvidia.com", "api.deepinfra.com", "api.replicate.com", "api.ai21.com", "api.z.ai"),
    ],
)
def test_a_host_of_any_other_provider_is_known(host: str) -> None:
    assert seen(host) == "other"


@pytest.mark.parametrize(
    "host",
    [
        *("my-bucket.s3.amazonaws.com", "sts.amazonaws.com", "notapi.openai.com", "openai.com.example", "example.test"),
        *("storage.googleapis.com", "huggingface.co", "bedrock-runtime.example.test", "127.0.0.1"),
    ],
)
def test_what_only_looks_like_one_is_not(host: str) -> None:
    assert seen(host) == ""


@pytest.mark.parametrize("variable", [name for each in KNOWN.values() for name in each.addresses])
def test_an_address_that_the_environment_names_is_known_in_every_spelling(variable: str) -> None:
    led = "led" if variable in PROVIDERS["openai"].addresses + PROVIDERS["anthropic"].addresses else "other"
    for host in ("llm.corp.test", "LLM.Corp.test", "llm.corp.test."):
        assert seen(host, 8080, **{variable: "http://LLM.corp.test:8080/v1"}) == led
        assert seen(host, 8081, **{variable: "http://LLM.corp.test:8080/v1"}) == ""


def test_an_address_that_is_none_is_no_error() -> None:
    for value in ("http://x:none", "x.openai.azure.com", "http://[::", "0.0.0.0"):
        assert seen("api.openai.com", AZURE_OPENAI_ENDPOINT=value) == "led"
        assert seen("example.test", AZURE_OPENAI_ENDPOINT=value) == ""
