"""The providers of models that are known: the one table of their addresses, keys and hosts."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

_OPENAI_WIRES = frozenset({"chat", "responses"})
_CHAT = frozenset({"chat"})


class Provider(msgspec.Struct, frozen=True):
    """A provider. One with ``wires`` can be spoken to, at ``base_url`` or where ``base_names`` say, with a key.

    ``more_addresses`` and ``more_keys`` are variables that other libraries read for it. ``hosts`` are ends of the names
    of its hosts, beside that of ``base_url``; with ``services``, a label before them must begin so. ``chosen``: where
    its address or key is set, some clients choose it.
    """

    base_url: str = ""
    base_names: tuple[str, ...] = ()
    key_names: tuple[str, ...] = ()
    wires: frozenset[str] = frozenset()
    needs_key: bool = True
    more_addresses: tuple[str, ...] = ()
    more_keys: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    chosen: bool = False

    @property
    def addresses(self) -> tuple[str, ...]:
        """All variables that name its address."""
        return self.base_names + self.more_addresses

    @property
    def keys(self) -> tuple[str, ...]:
        """All variables that hold a key of it."""
        return self.key_names + self.more_keys

    def serves(self, host: str) -> bool:
        """Whether a host, in lower case and without a dot at its end, is its own, in whatever region.

        >>> KNOWN["openai"].serves("eu.api.openai.com"), KNOWN["openai"].serves("notapi.openai.com")
        (True, False)
        >>> [KNOWN["amazon"].serves(f"{name}.amazonaws.com") for name in ("bedrock-runtime.eu-west-1", "my.s3")]
        [True, False]
        """
        named, ends = f".{host}", self.hosts
        if self.base_url.startswith("https://"):  # no address on this machine
            ends = (*ends, f".{urlsplit(self.base_url).hostname}")
        return named.endswith(ends) and (not self.services or any(f".{each}" in named for each in self.services))


PROVIDERS: dict[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1", ("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",), _OPENAI_WIRES
    ),
    "anthropic": Provider(
        "https://api.anthropic.com",
        ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL", "ANTHROPIC_API_BASE"),
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        frozenset({"messages"}),
    ),
    "openrouter": Provider(
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_BASE_URL",),
        ("OPENROUTER_API_KEY",),
        _CHAT,
        more_addresses=("OPENROUTER_API_BASE",),
    ),
    "groq": Provider(
        "https://api.groq.com/openai/v1",
        ("GROQ_BASE_URL",),
        ("GROQ_API_KEY",),
        _CHAT,
        more_addresses=("GROQ_API_BASE",),
    ),
    "mistral": Provider(
        "https://api.mistral.ai/v1",
        ("MISTRAL_BASE_URL",),
        ("MISTRAL_API_KEY",),
        _CHAT,
        more_addresses=("MISTRAL_API_BASE",),
        hosts=(".codestral.mistral.ai",),
    ),
    "deepseek": Provider(
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_BASE_URL",),
        ("DEEPSEEK_API_KEY",),
        _CHAT,
        more_addresses=("DEEPSEEK_API_BASE",),
    ),
    "xai": Provider(
        "https://api.x.ai/v1", ("XAI_BASE_URL",), ("XAI_API_KEY",), _CHAT, more_addresses=("XAI_API_BASE",)
    ),
    "google": Provider(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_BASE_URL",),
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        _CHAT,
        more_addresses=("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE"),
        more_keys=("GOOGLE_GENERATIVE_AI_API_KEY",),
    ),
    "ollama": Provider(
        "http://127.0.0.1:11434/v1",
        ("OLLAMA_BASE_URL",),
        ("OLLAMA_API_KEY",),
        _CHAT,
        needs_key=False,
        hosts=(".ollama.com",),
        chosen=True,
    ),
}
"""Those that can be spoken to, by the name that is said before the slash in ``--model PROVIDER/NAME``."""

KNOWN: dict[str, Provider] = {
    **PROVIDERS,
    "azure": Provider(
        more_addresses=(
            *("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_BASE_URL", "AZURE_API_BASE", "AZURE_INFERENCE_ENDPOINT"),
            *("AZURE_AI_ENDPOINT", "ANTHROPIC_FOUNDRY_BASE_URL"),
        ),
        more_keys=(
            *("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "AZURE_API_KEY", "AZURE_INFERENCE_CREDENTIAL"),
            *("AZURE_AI_API_KEY", "ANTHROPIC_FOUNDRY_API_KEY"),
        ),
        hosts=(
            *(".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"),
            *(".models.ai.azure.com", ".inference.ai.azure.com"),
        ),
        chosen=True,
    ),
    "amazon": Provider(  # none of the variables that its other services read
        more_addresses=(
            *("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_BEDROCK_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL"),
            *("ANTHROPIC_BEDROCK_MANTLE_BASE_URL", "ANTHROPIC_AWS_BASE_URL"),
        ),
        more_keys=("AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_AWS_API_KEY"),
        hosts=(".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu", ".api.aws"),
        services=("bedrock-runtime", "bedrock-agent-runtime", "bedrock-mantle", "aws-external-anthropic"),
    ),
    "vertex": Provider(
        more_addresses=("GOOGLE_VERTEX_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_GOOGLE_CLOUD_BASE_URL"),
        hosts=(".aiplatform.googleapis.com", "-aiplatform.googleapis.com"),
    ),
    "cohere": Provider(
        more_addresses=("CO_API_URL", "CO_BASE_URL", "COHERE_BASE_URL", "COHERE_API_BASE"),
        more_keys=("CO_API_KEY", "COHERE_API_KEY"),
        hosts=(".api.cohere.com", ".api.cohere.ai"),
    ),
    "together": Provider(
        more_addresses=("TOGETHER_BASE_URL",),
        more_keys=("TOGETHER_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_API_KEY"),
        hosts=(".api.together.xyz", ".api.together.ai"),
    ),
    "fireworks": Provider(
        more_addresses=("FIREWORKS_BASE_URL", "FIREWORKS_API_BASE"),
        more_keys=("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"),
        hosts=(".api.fireworks.ai",),
    ),
    "perplexity": Provider(
        more_addresses=("PERPLEXITY_BASE_URL",),
        more_keys=("PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY", "PPLX_API_KEY"),
        hosts=(".api.perplexity.ai",),
    ),
    "cerebras": Provider(
        more_addresses=("CEREBRAS_BASE_URL", "CEREBRAS_API_BASE"),
        more_keys=("CEREBRAS_API_KEY",),
        hosts=(".api.cerebras.ai",),
    ),
    "voyage": Provider(more_keys=("VOYAGE_API_KEY",), hosts=(".api.voyageai.com",)),
    "huggingface": Provider(hosts=(".router.huggingface.co", ".api-inference.huggingface.co")),  # its token is for data
    "github": Provider(hosts=(".models.github.ai",)),  # its token is for much else
    "moonshot": Provider(
        more_addresses=("MOONSHOTAI_BASE_URL", "MOONSHOT_API_BASE"),
        more_keys=("MOONSHOTAI_API_KEY", "MOONSHOT_API_KEY"),
        hosts=(".api.moonshot.ai", ".api.moonshot.cn"),
    ),
    "dashscope": Provider(
        more_keys=("DASHSCOPE_API_KEY", "ALIBABA_API_KEY"),
        hosts=(".dashscope.aliyuncs.com", ".dashscope-intl.aliyuncs.com", ".dashscope-us.aliyuncs.com"),
    ),
    "sambanova": Provider(
        more_addresses=("SAMBANOVA_BASE_URL",), more_keys=("SAMBANOVA_API_KEY",), hosts=(".api.sambanova.ai",)
    ),
    "nebius": Provider(more_keys=("NEBIUS_API_KEY",), hosts=(".api.studio.nebius.ai", ".api.studio.nebius.com")),
    "vercel": Provider(more_keys=("AI_GATEWAY_API_KEY", "VERCEL_AI_GATEWAY_API_KEY"), hosts=(".ai-gateway.vercel.sh",)),
    "nvidia": Provider(more_keys=("NVIDIA_API_KEY", "NVIDIA_NIM_API_KEY"), hosts=(".integrate.api.nvidia.com",)),
    "deepinfra": Provider(more_keys=("DEEPINFRA_API_KEY",), hosts=(".api.deepinfra.com",)),
    "replicate": Provider(hosts=(".api.replicate.com",)),
    "ai21": Provider(more_keys=("AI21_API_KEY",), hosts=(".api.ai21.com",)),
    "zai": Provider(more_keys=("ZAI_API_KEY",), hosts=(".api.z.ai",)),
}
"""Also those that aren't spoken to: what is asked of them costs money, and is stopped where nobody asked for it."""
