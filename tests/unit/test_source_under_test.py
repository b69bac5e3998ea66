"""What a failed test is about, where the log leads into no other code of the project."""

from pathlib import Path

import pytest

from cortex.runtime.code.source import Checkout, Location, find_relevant_code

CART = """\
class Cart:
    def add(self, item):
        self.items.append(item)

    def member_discount(self, member):
        return 0.1 if member.years > 3 else 0


class Shelf:
    def order(self):
        return sorted(self.items)
"""
MAIL = """\
def greet(name):
    return f"Dear {name}"
"""
TEST = """\
from helpers import check


def test_discount_of_a_long_standing_member():
    shop = open_shop()
    check(shop, 90)


def test_that_passes():
    assert greet("Ada") == "Dear Ada"
"""
HELPER = """\
def check(shop, price):
    assert shop.price == price
"""
LOG = """\
    def test_discount_of_a_long_standing_member():
        shop = open_shop()
>       check(shop, 90)

tests/test_prices.py:6:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

    def check(shop, price):
>       assert shop.price == price
E       AssertionError: assert 100 == 90

tests/helpers.py:2: AssertionError
FAILED tests/test_prices.py::test_discount_of_a_long_standing_member - AssertionError
"""


def suspects_of(path: str, line: int, checkout: Checkout) -> list[Location]:
    """What is found beside a test that failed there, of which the log says no more."""
    found = find_relevant_code(f"{path}:{line}: AssertionError", checkout)
    return [each for each in found if (each.path, each.line) != (path, line)]


@pytest.fixture
def shop(tmp_path: Path) -> Checkout:
    files = {
        "shop/cart.py": CART,
        "shop/mail.py": MAIL,
        "tests/test_prices.py": TEST,
        "tests/helpers.py": HELPER,
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return Checkout(tmp_path)


def test_a_test_alone_leads_to_the_function_that_it_speaks_of(shop: Checkout) -> None:
    best = suspects_of("tests/test_prices.py", 6, shop)[0]

    assert (best.path, best.line, best.symbol) == ("shop/cart.py", 5, "member_discount")


def test_a_test_further_up_in_the_file_does_not_count(shop: Checkout) -> None:
    best = suspects_of("tests/test_prices.py", 10, shop)[0]

    assert best.symbol == "greet"


def test_no_test_is_what_a_test_is_about(shop: Checkout) -> None:
    suspects = suspects_of("tests/test_prices.py", 6, shop)

    about = [each.path for each in suspects if "is likely about" in each.why]
    assert about
    assert not any(path.startswith("tests/") for path in about)


def test_another_file_comes_before_the_third_function_of_one(tmp_path: Path) -> None:
    many = "".join(f"def price_{n}(price):\n    return price\n\n\n" for n in range(9))
    (tmp_path / "prices.py").write_text(many)
    (tmp_path / "other.py").write_text("def other():\n    return price() + 1\n")
    (tmp_path / "test_it.py").write_text("def test_price():\n    assert 1 == 2\n")

    paths = [each.path for each in suspects_of("test_it.py", 2, Checkout(tmp_path))]

    assert "other.py" in paths[:3]
    assert paths.count("prices.py") > len(paths) / 2


def test_a_helper_that_failed_does_not_stand_for_the_test(shop: Checkout) -> None:
    found = find_relevant_code(LOG, shop)

    assert (found[0].path, found[0].line) == ("tests/helpers.py", 2)
    outside = [each for each in found if not each.path.startswith("tests/")]
    assert outside[0].symbol == "member_discount"
    assert "the failed test is likely about member_discount" in outside[0].why


def test_the_head_of_a_test_is_left_out_beside_a_line_of_it(shop: Checkout) -> None:
    found = find_relevant_code(LOG, shop)

    assert ("tests/test_prices.py", 6) in {(each.path, each.line) for each in found}
    assert ("tests/test_prices.py", 4) not in {(each.path, each.line) for each in found}


def test_the_words_of_a_test_that_a_sentence_names_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "tax.js").write_text("export function addTax(cart) {\n  return cart * 1.2;\n}\n")
    (tmp_path / "mail.js").write_text("export function greet(name) {\n  return name;\n}\n")
    test = (
        "it('greets', () => {\n  expect(greet('Ada')).toBe('Ada');\n});\n\n"
        "it('adds the tax', () => {\n  expect(total(1)).toBe(2);\n});\n"
    )
    (tmp_path / "shop.test.js").write_text(test)

    log = "  at Object.<anonymous> (shop.test.js:6:3)"
    found = find_relevant_code(log, Checkout(tmp_path))

    assert [each.symbol for each in found if each.path != "shop.test.js"] == ["addTax"]


@pytest.mark.parametrize(
    "said",
    [
        "AttributeError: type object 'Cart' has no attribute 'empty'",
        "AttributeError: 'Cart' object has no attribute 'empty'",
    ],
)
def test_a_missing_attribute_leads_to_the_class_that_lacks_it(said: str, shop: Checkout) -> None:
    found = find_relevant_code(said, shop)

    assert [(each.path, each.line) for each in found] == [("shop/cart.py", 1)]
