"""build/measured.md keeps what was measured when another bench, or none, is measured again."""

from benches import page


def test_what_others_printed_is_kept(tmp_path, monkeypatch) -> None:
    stored = tmp_path / "measured.md"
    parts = {
        title: page.Measured(
            title, f"python -m {title}", "2026-11-27", "2f201190", "EPYC", "0.1 before", text
        )
        for title, text in (("Start", "1 s\n\n2 s"), ("Report", "3 s"), ("Gap", "## 4 s"))
    }
    benches = {title: {"title": title, "paths": ["no such path"]} for title in parts}
    monkeypatch.setattr(page, "_PAGE", stored)
    monkeypatch.setattr(page, "_changed_since", lambda commit, paths: 2 if commit else 0)
    page._write(benches, parts)
    assert {
        one["title"]: page.Measured(**one.groupdict()) for one in page._PART.finditer(stored.read_text())
    } == parts
