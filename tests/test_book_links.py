"""Links of a built site that lead nowhere are found; those that lead somewhere are not reported."""

from helpers.book_links import broken_links


def site(folder, **pages):
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


def test_what_is_there_is_not_reported(tmp_path):
    (tmp_path / "a b.png").write_bytes(b"")
    site(tmp_path, index='<a href="other.html#place">x</a><a href="#top"></a><p id="top"></p>'
                         '<img src="a%20b.png"><a href="https://example.org/none">x</a><a href="mailto:a@b">m</a>',
         other='<h2 id="place">y</h2><a href="index.html">back</a>')
    assert broken_links(tmp_path) == []


def test_a_missing_page_picture_and_place_are_each_one_line(tmp_path):
    site(tmp_path, index='<a href="none.html">x</a><a href="none.html">x</a><img src="none.png"><a href="#none">x</a>')
    assert broken_links(tmp_path) == ["index.html: #none", "index.html: none.html", "index.html: none.png"]


def test_a_link_out_of_the_site_is_broken_even_if_something_is_there(tmp_path):
    (tmp_path / "secret.html").write_text("", encoding="utf-8")
    (tmp_path / "site").mkdir()
    site(tmp_path / "site", index='<a href="../secret.html">x</a>')
    assert broken_links(tmp_path / "site") == ["index.html: ../secret.html"]


def test_a_folder_stands_for_its_index(tmp_path):
    (tmp_path / "api").mkdir()
    site(tmp_path, index='<a href="api/">x</a>')
    assert broken_links(tmp_path) == ["index.html: api/"]
    site(tmp_path / "api", index="")
    assert broken_links(tmp_path) == []
