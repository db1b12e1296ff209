-- The shop's database. `ref` columns are internal ids: they are never shown to a customer.
-- Amounts are whole cents of the order's own currency; dates are ISO days.

create table settings (
    name  text primary key,
    value text not null
);

create table customers (
    ref      text primary key,
    name     text not null,
    email    text not null unique,
    postcode text not null
);

create table orders (
    ref            text primary key,
    number         text not null unique,
    customer_ref   text not null references customers (ref),
    status         text not null check (status in ('processing', 'shipped', 'delivered', 'cancelled')),
    placed         text not null,
    delivered      text,
    currency       text not null default 'USD',
    shipping_cents integer not null default 0 check (shipping_cents >= 0),
    ship_to        text not null,
    gift           integer not null default 0,
    note           text not null default ''
);

create table order_lines (
    ref         text primary key,
    order_ref   text not null references orders (ref),
    sku         text not null,
    title       text not null,
    quantity    integer not null check (quantity > 0),
    price_cents integer not null check (price_cents > 0),
    final_sale  integer not null default 0
);

create table stock (
    sku         text primary key,
    product     text not null,
    variant     text not null,
    price_cents integer not null check (price_cents > 0),
    quantity    integer not null check (quantity >= 0)
);

create table refunds (
    ref          text primary key,
    order_number text not null references orders (number),
    amount_cents integer not null check (amount_cents > 0),
    reason       text not null default '',
    made         text not null
);

create table exchanges (
    ref          text primary key,
    order_number text not null references orders (number),
    from_sku     text not null,
    to_sku       text not null,
    made         text not null
);

create table tickets (
    number       text primary key,
    topic        text not null,
    order_number text not null default '',
    summary      text not null,
    opened       text not null
);
