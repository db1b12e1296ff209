"""The router: what a customer's message asks for, before anybody works on it. One call of a model, no tools."""

from __future__ import annotations

from openai import OpenAI

MODEL = "gpt-4.1-nano-2025-04-14"
LABELS = ("refund", "exchange", "cancel", "address", "question", "person", "chat")

INSTRUCTIONS = """\
Say what a customer of a wool shop asks for. Answer with one of these words and nothing else:

refund    they want their money back for something that they received
exchange  they want another size, colour or item for one that they received
cancel    they want an order stopped that was not delivered
address   they want an order sent to another address than the one it has
question  they ask how something works, without asking for it to be done
person    they want a human, or speak of a lawyer, an injury or a danger
chat      anything that asks for nothing
"""


def route(message: str, *, client: OpenAI, model: str = MODEL) -> str:
    """The model's word for a message, in lower case and without a full stop. It may be none of `LABELS`."""
    reply = client.chat.completions.create(
        model=model,
        temperature=0,
        messages=[{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": message}],
    )
    return tidy(reply.choices[0].message.content or "")


def tidy(word: str) -> str:
    """A word as the rest of the code compares it.

    >>> tidy(" Refund. ")
    'refund'
    """
    return word.strip().rstrip(".").lower()
