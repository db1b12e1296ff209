"""What a call costs, by the genai-prices package where it is installed. An unknown price is None, never 0."""

from __future__ import annotations

from typing import Any

from passhat.facts import Usage


def price(provider: str, model: str, usage: Usage, cache_written: int = 0) -> float | None:
    """The price of a call in US dollars; None when the package, the model, or a figure isn't known."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    try:
        import genai_prices  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    counts: Any = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cached_tokens or 0,
        cache_write_tokens=cache_written,
        output_tokens=usage.output_tokens,
    )
    try:
        return float(genai_prices.calc_price(counts, model, provider_id=provider).total_price)
    except (LookupError, ValueError):
        return None


def has_price(provider: str, model: str) -> bool:
    """Whether calls of a model can be priced."""
    return price(provider, model, Usage(1, 1000, 0, 1000, 0)) is not None
