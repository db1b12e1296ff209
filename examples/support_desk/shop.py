"""The back office of a small shop: what the staff, and the assistant, can look up and change.

Every rule that the shop can check by itself is checked here and raises `ShopError`. Who may ask for what (whether the
customer was verified, how much the assistant may refund) is the support desk's business: see ``desk.py``.

Amounts are whole cents of the order's currency. `ref` values are internal ids.
"""

from __future__ import annotations

import re
import sqlite3
import uuid
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any

HERE = Path(__file__).parent
WINDOW_DAYS = 30

Row = dict[str, Any]


class ShopError(Exception):
    """A rule of the shop forbids it, or there is no such thing; the text can be shown to whoever asked."""


class Shop:
    """The shop on the database file ``path``. Use it as a context manager: each change is saved at once."""

    def __init__(self, path: Path) -> None:
        # One request at a time uses a shop, though not always from the thread that opened it.
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        self._db.execute("pragma foreign_keys = on")

    def __enter__(self) -> Shop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    @property
    def today(self) -> date:
        """The shop's own calendar day."""
        return date.fromisoformat(str(self._one("select value from settings where name = 'today'")["value"]))

    # ---- looking things up

    def verify_customer(self, email: str, postcode: str) -> Row:
        """The customer whose account has this email and postcode, with the numbers of their orders."""
        found = self._rows("select * from customers where lower(email) = ?", email.strip().lower())
        if not found or _squeezed(found[0]["postcode"]) != _squeezed(postcode):
            raise ShopError("no account has this email address together with this postcode")
        customer = found[0]
        orders = self._rows("select number from orders where customer_ref = ? order by number", customer["ref"])
        return {"ref": customer["ref"], "name": customer["name"], "orders": [order["number"] for order in orders]}

    def get_order(self, order_number: str) -> Row:
        """An order with its lines, its refunds and exchanges so far, and the variants in stock of its products."""
        order = self._order(order_number)
        customer = self._one("select email from customers where ref = ?", order["customer_ref"])
        lines = self._lines(order)
        return {
            "ref": order["ref"],
            "order_number": order["number"],
            "customer_email": customer["email"],
            "status": order["status"],
            "placed": order["placed"],
            "delivered": order["delivered"],
            "currency": order["currency"],
            "shipping_cents": order["shipping_cents"],
            "ship_to": order["ship_to"],
            "gift": bool(order["gift"]),
            "note": order["note"],
            "lines": [
                {
                    "sku": line["sku"],
                    "title": line["title"],
                    "quantity": line["quantity"],
                    "price_cents_each": line["price_cents"],
                    "final_sale": bool(line["final_sale"]),
                }
                for line in lines
            ],
            "refunded_cents": self.refunded(order["number"]),
            "exchanges": self._rows(
                "select from_sku, to_sku from exchanges where order_number = ? order by rowid", order["number"]
            ),
            "variants": [variant for line in lines for variant in self._variants(line["sku"])],
        }

    def search_policy(self, query: str) -> Row:
        """Up to three sections of the desk's rules that share the most words with ``query``."""
        best = ranked_sections(query)[:3]
        if not best:
            raise ShopError("nothing in the rules matches; try other words")
        return {"sections": best}

    def refunded(self, order_number: str) -> int:
        """Cents refunded on an order so far."""
        row = self._one(
            "select coalesce(sum(amount_cents), 0) as total from refunds where order_number = ?",
            tidy_number(order_number),
        )
        return int(row["total"])

    # ---- changing things

    def issue_refund(self, order_number: str, amount_cents: int, reason: str) -> Row:
        """Refund part or all of what was paid for a delivered order's items."""
        order = self._order(order_number)
        self._still_returnable(order, "refunded")
        if amount_cents <= 0:
            raise ShopError(f"a refund must be more than 0 cents, not {amount_cents}")
        paid = sum(line["quantity"] * line["price_cents"] for line in self._lines(order) if not line["final_sale"])
        left = paid - self.refunded(order["number"])
        if left <= 0:
            raise ShopError(
                f"nothing is left to refund on order {order['number']}: all of it was refunded or is final sale"
            )
        if amount_cents > left:
            raise ShopError(f"only {left} cents are left to refund on order {order['number']}, not {amount_cents}")
        self._db.execute(
            "insert into refunds values (?, ?, ?, ?, ?)",
            (self._ref("refunds"), order["number"], amount_cents, reason, self.today.isoformat()),
        )
        return {"order_number": order["number"], "refunded_cents": amount_cents, "currency": order["currency"]}

    def exchange_item(self, order_number: str, from_sku: str, to_sku: str) -> Row:
        """Exchange a delivered item for another variant of the same product at the same price."""
        order = self._order(order_number)
        self._still_returnable(order, "exchanged")
        line = next((line for line in self._lines(order) if line["sku"] == from_sku), None)
        if line is None:
            raise ShopError(f"order {order['number']} has no item {from_sku}")
        if self._rows("select 1 from exchanges where order_number = ? and from_sku = ?", order["number"], from_sku):
            raise ShopError(f"{from_sku} of order {order['number']} was exchanged already")
        wanted = next((variant for variant in self._variants(from_sku) if variant["sku"] == to_sku), None)
        if wanted is None or to_sku == from_sku:
            raise ShopError(f"{to_sku} is not another variant of {from_sku}")
        if wanted["price_cents"] != line["price_cents"]:
            raise ShopError(f"{to_sku} has another price than {from_sku}")
        if wanted["in_stock"] == 0:
            raise ShopError(f"{to_sku} is out of stock")
        self._db.execute(
            "insert into exchanges values (?, ?, ?, ?, ?)",
            (self._ref("exchanges"), order["number"], from_sku, to_sku, self.today.isoformat()),
        )
        self._db.execute("update stock set quantity = quantity - 1 where sku = ?", (to_sku,))
        return {"order_number": order["number"], "from_sku": from_sku, "to_sku": to_sku}

    def cancel_order(self, order_number: str) -> Row:
        """Cancel an order that is still being processed; its payment is released."""
        order = self._order(order_number)
        if order["status"] != "processing":
            raise ShopError(
                f"order {order['number']} is {order['status']}: only an order in processing can be cancelled"
            )
        self._db.execute("update orders set status = 'cancelled' where ref = ?", (order["ref"],))
        return {"order_number": order["number"], "status": "cancelled"}

    def update_address(self, order_number: str, address: str) -> Row:
        """Send an order that is still being processed to another address."""
        order = self._order(order_number)
        if order["status"] != "processing":
            raise ShopError(f"order {order['number']} is {order['status']}: its address can't be changed any more")
        tidy = " ".join(address.split()).rstrip(".")
        if not tidy:
            raise ShopError("the address is empty")
        self._db.execute("update orders set ship_to = ? where ref = ?", (tidy, order["ref"]))
        return {"order_number": order["number"], "ship_to": tidy}

    def open_ticket(self, topic: str, order_number: str, summary: str) -> Row:
        """Leave a case for a colleague; ``order_number`` may be empty."""
        about = self._order(order_number)["number"] if order_number else ""
        number = f"T{self._one('select count(*) as n from tickets')['n'] + 501}"
        self._db.execute(
            "insert into tickets values (?, ?, ?, ?, ?)", (number, topic, about, summary, self.today.isoformat())
        )
        return {"ticket": number}

    # ---- inside

    def _order(self, order_number: str) -> Row:
        number = tidy_number(order_number)
        found = self._rows("select * from orders where number = ?", number)
        if not found:
            raise ShopError(f"there is no order {number}")
        return found[0]

    def _lines(self, order: Row) -> list[Row]:
        return self._rows("select * from order_lines where order_ref = ? order by rowid", order["ref"])

    def _variants(self, sku: str) -> list[Row]:
        return self._rows(
            "select sku, variant, price_cents, quantity as in_stock from stock"
            " where product = (select product from stock where sku = ?) order by sku",
            sku,
        )

    def _still_returnable(self, order: Row, verb: str) -> None:
        if order["status"] != "delivered" or order["delivered"] is None:
            raise ShopError(f"order {order['number']} is {order['status']}: only a delivered order can be {verb}")
        days = (self.today - date.fromisoformat(order["delivered"])).days
        if days > WINDOW_DAYS:
            raise ShopError(f"order {order['number']} was delivered {days} days ago: the limit is {WINDOW_DAYS} days")

    def _ref(self, table: str) -> str:
        count = self._one(f"select count(*) as n from {table}")["n"]
        return internal_ref(table, str(count))

    def _rows(self, query: str, *values: object) -> list[Row]:
        return [dict(row) for row in self._db.execute(query, values)]

    def _one(self, query: str, *values: object) -> Row:
        return self._rows(query, *values)[0]


def seed(path: Path, data: Mapping[str, Any]) -> None:
    """Make the database file ``path`` with the day, customers, orders and stock in ``data``."""
    with sqlite3.connect(path) as db:
        db.execute("pragma synchronous = off")
        db.executescript((HERE / "schema.sql").read_text(encoding="utf-8"))
        db.execute("insert into settings values ('today', ?)", (data["today"],))
        for customer in data["customers"]:
            row = (
                internal_ref("customer", customer["email"]),
                customer["name"],
                customer["email"],
                customer["postcode"],
            )
            db.execute("insert into customers values (?, ?, ?, ?)", row)
        for item in data.get("stock", []):
            entry = (item["sku"], item["product"], item["variant"], item["price_cents"], item["quantity"])
            db.execute("insert into stock values (?, ?, ?, ?, ?)", entry)
        for order in data.get("orders", []):
            _seed_order(db, order)
    db.close()


def _seed_order(db: sqlite3.Connection, order: Mapping[str, Any]) -> None:
    ref = internal_ref("order", order["number"])
    db.execute(
        "insert into orders values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            ref,
            order["number"],
            internal_ref("customer", order["customer"]),
            order["status"],
            order["placed"],
            order.get("delivered"),
            order.get("currency", "USD"),
            order.get("shipping_cents", 0),
            order["ship_to"],
            int(order.get("gift", False)),
            order.get("note", ""),
        ),
    )
    for place, line in enumerate(order["lines"]):
        sale = int(line.get("final_sale", False))
        row = (line["sku"], line["title"], line.get("quantity", 1), line["price_cents"], sale)
        db.execute("insert into order_lines values (?, ?, ?, ?, ?, ?, ?)", (internal_ref(ref, str(place)), ref, *row))
    for place, refund in enumerate(order.get("refunds", [])):
        made = (internal_ref("refund", order["number"], str(place)), order["number"], refund["amount_cents"])
        db.execute("insert into refunds values (?, ?, ?, ?, ?)", (*made, refund.get("reason", ""), refund["made"]))


def internal_ref(*parts: str) -> str:
    """An internal id that is the same for the same thing on every machine."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "https://alder-and-wool.example/" + "/".join(parts)))


def tidy_number(order_number: str) -> str:
    """An order number as the database writes it: ``"# a-1001"`` is ``"A1001"``."""
    return re.sub(r"[^A-Z0-9]", "", order_number.upper())


def policy_sections() -> list[str]:
    """The sections of the desk's rules, each with its heading."""
    text = (HERE / "policy.md").read_text(encoding="utf-8")
    return [part.strip() for part in text.split("\n## ")[1:]]


def ranked_sections(query: str) -> list[str]:
    """The sections that share words with ``query``, those with the most first.

    >>> [section.partition("\\n")[0] for section in ranked_sections("wash a blanket")]
    ['Caring for wool']
    """
    wanted = _words(query)
    scored = [(_overlap(wanted, section), -place, section) for place, section in enumerate(policy_sections())]
    return [section for score, _, section in sorted(scored, reverse=True) if score > 0]


def _squeezed(text: str) -> str:
    return "".join(text.split()).upper()


def _overlap(wanted: set[str], section: str) -> int:
    """How many of the words a section has; those of its heading count twice."""
    heading = section.partition("\n")[0]
    return len(wanted & _words(section)) + len(wanted & _words(heading))


def _words(text: str) -> set[str]:
    """The words by their first four letters, so that *exchange* finds *exchanged*."""
    return {word[:4] for word in re.findall(r"[a-z]{4,}", text.lower())}
