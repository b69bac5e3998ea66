"""Reading places in files out of log lines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.code.source import Frame, parse_frames

SHAPES = [
    ('  File "/srv/app/cart.py", line 12, in total', "/srv/app/cart.py", 12, "total"),
    ("tests/test_cart.py:31: AssertionError", "tests/test_cart.py", 31, ""),
    ("tests/test_cart.py:31: in test_total", "tests/test_cart.py", 31, "test_total"),
    ("    at Cart.total (/srv/src/cart.js:12:5)", "/srv/src/cart.js", 12, "Cart.total"),
    ("    at async file:///srv/src/cart.mjs:12:5", "file:///srv/src/cart.mjs", 12, ""),
    ("    at webpack://shop/./src/cart.ts?a1:12:5", "webpack://shop/./src/cart.ts?a1", 12, ""),
    ("total@http://localhost/src/cart.js:12:5", "http://localhost/src/cart.js", 12, "total"),
    ("\tat com.acme.Cart.total(Cart.java:12)", "Cart.java", 12, "com.acme.Cart.total"),
    (
        "\tat app//com.acme.CartKt.total(Cart.kt:12) ~[a.jar:1]",
        "Cart.kt",
        12,
        "com.acme.CartKt.total",
    ),
    ("[ERROR] /b/Cart.java:[12,5] cannot find symbol", "/b/Cart.java", 12, ""),
    ("e: /b/Cart.kt: (12, 5): unresolved reference", "/b/Cart.kt", 12, ""),
    ("\t/srv/cart/cart.go:12 +0x1d", "/srv/cart/cart.go", 12, ""),
    ("    cart_test.go:31: got 1, want 2", "cart_test.go", 31, ""),
    ("thread 'main' panicked at src/cart.rs:3:5:", "src/cart.rs", 3, "main"),
    ("thread 'main' panicked at 'oh no', src/cart.rs:3:5", "src/cart.rs", 3, "main"),
    ("  --> src/cart.rs:3:5", "src/cart.rs", 3, ""),
    ("cart.rb:12:in `total': oh no (RuntimeError)", "cart.rb", 12, "total"),
    ("src/cart.c:12:5: error: expected ';'", "src/cart.c", 12, ""),
    ("#1  0x00005 in total (c=0x1) at src/cart.c:12", "src/cart.c", 12, "total"),
    ("    #1 0x4f21c in total /srv/cart.c:12:5", "/srv/cart.c", 12, "total"),
    (
        "   at Shop.Cart.Total() in C:\\b\\Cart.cs:line 12",
        "C:\\b\\Cart.cs",
        12,
        "Shop.Cart.Total()",
    ),
    ("src\\Cart.cs(12,5): error CS0103: oh no", "src\\Cart.cs", 12, ""),
    ("#0 /srv/Cart.php(12): Cart->total()", "/srv/Cart.php", 12, "Cart->total"),
    ("  thrown in /srv/Cart.php on line 12", "/srv/Cart.php", 12, ""),
    ("Illegal division by zero at lib/Cart.pm line 12.", "lib/Cart.pm", 12, ""),
    ("see docs/cart.md or lib/cart.ex:12 for more", "lib/cart.ex", 12, ""),
    ("\x1b[31msrc/cart.c:12:5: error: red\x1b[0m", "src/cart.c", 12, ""),
    ("2024-05-14T09:12:45.881Z src/cart.c:12:5: error: late", "src/cart.c", 12, ""),
]


@pytest.mark.parametrize(("line", "path", "number", "symbol"), SHAPES)
def test_one_line_gives_one_place(line: str, path: str, number: int, symbol: str) -> None:
    (frame,) = parse_frames([line])

    assert (frame.path, frame.line, frame.symbol) == (path, number, symbol)


@pytest.mark.parametrize(
    "line",
    [
        "listening on 127.0.0.1:8080",
        "12:31:07 started",
        "https://example.org:443/index",
        "ratio 3:4, version 1.2.3:4",
        "error: something failed",
        "",
    ],
)
def test_a_line_without_a_file_gives_nothing(line: str) -> None:
    assert parse_frames([line]) == []


def test_depth_counts_from_where_the_error_was_raised() -> None:
    python = parse_frames(
        [
            "Traceback (most recent call last):",
            '  File "a.py", line 1, in outer',
            '  File "b.py", line 2, in inner',
            "ValueError: oh no",
        ]
    )
    java = parse_frames(
        ["java.lang.Error: oh no", "\tat p.B.inner(B.java:2)", "\tat p.A.outer(A.java:1)"]
    )

    assert [(frame.path, frame.depth) for frame in python] == [("a.py", 1), ("b.py", 0)]
    assert [(frame.path, frame.depth) for frame in java] == [("B.java", 0), ("A.java", 1)]
    assert {frame.message for frame in python} == {"ValueError: oh no"}
    assert {frame.message for frame in java} == {"java.lang.Error: oh no"}


def test_the_root_cause_of_a_chain_has_rank_zero() -> None:
    frames = parse_frames(
        [
            "Exception in thread main java.lang.IllegalStateException: outer",
            "\tat p.A.outer(A.java:1)",
            "Caused by: java.lang.NumberFormatException: inner",
            "\tat p.B.inner(B.java:2)",
            "\t... 1 more",
        ]
    )

    assert [(frame.path, frame.cause) for frame in frames] == [("A.java", 1), ("B.java", 0)]
    assert len({frame.chain for frame in frames}) == 1


def test_two_failures_are_two_chains() -> None:
    frames = parse_frames(
        [
            "thread 'one' panicked at src/a.rs:1:1:",
            "oh no",
            "thread 'two' panicked at src/b.rs:2:2:",
            "oh no",
        ]
    )

    assert [(frame.path, frame.depth) for frame in frames] == [("src/a.rs", 0), ("src/b.rs", 0)]
    assert len({frame.chain for frame in frames}) == 2


def test_a_trace_that_was_only_logged_as_a_warning_is_one() -> None:
    frames = parse_frames(
        [
            "WARNING:report:going on",
            "Traceback (most recent call last):",
            '  File "a.py", line 1, in main',
            "KeyError: 'x'",
        ]
    )

    assert [frame.kind for frame in frames] == ["warning"]


def test_make_tells_the_folder_of_the_paths_that_follow() -> None:
    frames = parse_frames(
        [
            "make[1]: Entering directory '/b/tools'",
            "utils.c:9:5: error: expected ';'",
            "make[1]: Leaving directory '/b/tools'",
            "main.c:2:5: error: expected ';'",
        ]
    )

    assert [frame.path for frame in frames] == ["/b/tools/utils.c", "main.c"]


LINES = st.lists(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from([shape[0] for shape in SHAPES]),
        st.sampled_from(
            ["Traceback (most recent call last):", "Caused by: x", "goroutine 1 [running]:", "1) x"]
        ),
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(LINES)
def test_any_text_gives_frames_in_order(lines: list[str]) -> None:
    frames = parse_frames(lines)

    assert [frame.at for frame in frames] == sorted(frame.at for frame in frames)
    assert all(frame.line > 0 and frame.path and frame.at < len(lines) for frame in frames)
    assert all(_depths_are_complete(frames, trace) for trace in {f.trace for f in frames} - {-1})


def _depths_are_complete(frames: list[Frame], trace: int) -> bool:
    depths = sorted(frame.depth for frame in frames if frame.trace == trace)
    return depths == list(range(len(depths)))
