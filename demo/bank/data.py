# SPDX-License-Identifier: Apache-2.0
"""The bank's customers, generated with a fixed seed, so that every correct reply is known.

Each customer has one account and some contacts among the others.  Each payment is a pair of
entries, so the sum of all entries is zero.
"""
import dataclasses
import hashlib
import random

CUSTOMERS, CONTACTS, PAYMENTS = 100, 8, 14000
FIRST_ACCOUNT = 1000
SHOWN = 10  # entries on the home page
ROUNDS = 20000  # of the password hash: about 8 ms of arithmetic

FIRST_NAMES = "Ada Alan Barbara Dennis Donald Edsger Frances Grace Ken Margaret".split()
LAST_NAMES = "Bell Church Dahl Floyd Hoare Knuth Liskov Naur Perlis Wirth".split()

SCHEMA = """
CREATE TABLE customers (login text PRIMARY KEY, name text NOT NULL, account int UNIQUE NOT NULL,
    salt text NOT NULL, hash text NOT NULL, last_login timestamptz);
CREATE TABLE contacts (owner int NOT NULL, account int NOT NULL, name text NOT NULL,
    PRIMARY KEY (owner, account));
CREATE TABLE entries (id int PRIMARY KEY, account int NOT NULL, peer int NOT NULL, amount bigint NOT NULL);
CREATE INDEX ON entries (account, peer)"""


@dataclasses.dataclass
class Customer:
    login: str
    password: str
    name: str
    account: int
    contacts: list = dataclasses.field(default_factory=list)  # accounts
    entries: list = dataclasses.field(default_factory=list)  # (id, peer, amount in cents), oldest first


def password_hash(password, salt):
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), ROUNDS).hex()


def customers():
    """All customers, by account."""
    chance = random.Random(1619)
    names = [f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES][:CUSTOMERS]
    made = {FIRST_ACCOUNT + i: Customer(f"user{i}", f"secret{i}", name, FIRST_ACCOUNT + i)
            for i, name in enumerate(names)}
    for customer in made.values():
        others = [account for account in made if account != customer.account]
        customer.contacts = chance.sample(others, CONTACTS)
    for i in range(PAYMENTS):
        payer = chance.choice(list(made.values()))
        payee, amount = made[chance.choice(payer.contacts)], chance.randint(1, 100000)
        payer.entries.append((2 * i, payee.account, -amount))
        payee.entries.append((2 * i + 1, payer.account, amount))
    return made


def home_page(customer, made):
    """The correct reply of the frontend."""
    last_paid = {peer: number for number, peer, _ in customer.entries}
    return {"name": customer.name,
            "balance": sum(amount for _, _, amount in customer.entries),
            "contacts": sorted([made[account].name, account, last_paid.get(account)]
                               for account in customer.contacts),
            "entries": [list(entry) for entry in customer.entries[:-SHOWN - 1:-1]]}


def insert(table, columns, rows):
    values = ", ".join(f"({', '.join(repr(value) for value in row)})" for row in rows)
    return f"INSERT INTO {table} ({columns}) VALUES {values}"


def statements():
    """The SQL that creates the database."""
    made = customers()
    yield from SCHEMA.strip().split(";\n")
    yield insert("customers", "login, name, account, salt, hash",
                 [(c.login, c.name, c.account, c.login, password_hash(c.password, c.login)) for c in made.values()])
    yield insert("contacts", "owner, account, name",
                 [(c.account, account, made[account].name) for c in made.values() for account in c.contacts])
    yield insert("entries", "id, account, peer, amount",
                 [(number, c.account, peer, amount) for c in made.values() for number, peer, amount in c.entries])
    yield "VACUUM ANALYZE"
