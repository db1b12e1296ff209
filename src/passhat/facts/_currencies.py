"""The signs and codes by which an amount of money is known in a text."""

from __future__ import annotations

CURRENCY_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}

# ISO 4217 codes of the currencies most traded, without TRY, which is a word too. No three capitals stand for a currency
# by themselves: "ABC 123" is a booking.
CURRENCY_CODES = (
    *CURRENCY_SIGNS.values(),
    *("AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "HKD", "HUF", "ILS", "INR", "KRW", "MXN", "NOK", "NZD", "PLN"),
    *("RON", "SEK", "SGD", "THB", "ZAR"),
)
