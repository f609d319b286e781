"""The log: lines with checksums, durable appending, atomic replacing, damage set aside, older formats."""

import os
import stat
import threading

import pytest

from helpers import durable, journal
from helpers.durable import add_file, append_line, replace_file
from helpers.journal import Journal, JournalError
from helpers.memory_format import (
    BadLine,
    Damage,
    DamageReport,
    NotAMemory,
    decode,
    decode_header,
    encode,
    events_of_list,
)

HEADER = {"format": "vector-memory", "version": 2, "embedder": "Exact()"}
EVENTS = [{"event": "note", "text": text} for text in ("one", "élève 最大", 'a "quoted"\nline', "four", "five")]


def write(path, *records, tail=b""):
    path.write_bytes(b"".join(map(encode, [HEADER, *records])) + tail)


def read(path):
    """All records as a new reader sees them, with the journal itself."""
    log, records = Journal(path), []
    log.catch_up(records.append, lambda header: records.clear())
    return log, records


# -- one line ------------------------------------------------------------------------------------------------------

def test_a_line_is_readable_json_with_sorted_keys_and_gives_back_its_record():
    line = encode({"b": "最大 é\n", "a": 1})
    assert line.decode("utf-8").startswith('{"a": 1, "b": "最大 é\\n", "zlib_crc32": "')
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert decode(line) == {"b": "最大 é\n", "a": 1}
    assert decode(line.replace(b"\n", b"\r\n")) == {"b": "最大 é\n", "a": 1}  # a checkout with other line ends


def test_every_cut_and_every_flipped_bit_of_a_line_is_noticed():
    line = encode(EVENTS[1]).rstrip(b"\n")
    for length in range(len(line)):
        with pytest.raises(BadLine):
            decode(line[:length])
    for place in range(len(line)):
        for bit in range(8):
            changed = bytearray(line)
            changed[place] ^= 1 << bit
            with pytest.raises(BadLine):
                decode(bytes(changed))


@pytest.mark.parametrize(("record", "error"), [({"x": float("nan")}, ValueError), ({"x": b"bytes"}, TypeError),
                                               ({"x": "\ud800"}, UnicodeEncodeError)])
def test_what_json_or_utf8_cannot_hold_is_refused_before_it_is_a_line(record, error):
    with pytest.raises(error):
        encode(record)


@pytest.mark.parametrize(("line", "why"), [(b"[1]", "no JSON object"), (b'{"a": NaN}', "NaN"), (b"\xff", "no JSON"),
                                           (b'{"a": "\\ud800"}', "no JSON"), (b"[" * 100_000, "no JSON")])
def test_a_line_without_checksum_of_format_1_must_still_be_a_clean_object(line, why):
    assert decode(b'{"a": 1}', 1) == {"a": 1}
    with pytest.raises(BadLine, match=why):
        decode(line, 1)


def test_a_header_says_its_version_and_a_newer_one_is_refused_by_name():
    assert decode_header(encode(HEADER))["embedder"] == "Exact()"
    assert decode_header(b'{"format": "vector-memory", "version": 1}') == {"format": "vector-memory", "version": 1}
    with pytest.raises(NotAMemory, match="expected format version 1 to 2, got 3; open it with the newer course"):
        decode_header(b'{"format": "vector-memory", "version": 3}')
    with pytest.raises(BadLine, match="no header"):
        decode_header(b'{"format": "other"}')
    with pytest.raises(BadLine, match="checksum"):  # a flipped digit is damage, not news from the future
        decode_header(encode(HEADER).replace(b'"version": 2', b'"version": 3'))


def test_the_oldest_format_gives_events_and_names_the_entry_at_fault():
    events = events_of_list(b'[{"id": 2, "spec": "b", "lesson": "B"}, {"id": 0, "spec": "a", "lesson": "A"}]')
    assert [(event["id"], event["spec"], event["text"]) for event in events] == [(0, "a", "A"), (2, "b", "B")]
    assert events_of_list(b"[]") == []
    for data, why in [(b"[1]", "entry 0"), (b'[{"id": "x", "spec": "a", "lesson": "b"}]', "entry 0.*an id"),
                      (b"[", "JSON list"), (b'[{"id": 1, "spec": "a", "lesson": null}]', "entry 0.*lesson"),
                      (b'[{"id": 1, "spec": "a", "lesson": "b"}, {"id": 1, "spec": "c", "lesson": "d"}]', "twice")]:
        with pytest.raises(NotAMemory, match=why):
            events_of_list(data)


def test_a_report_says_how_much_was_read_and_where_the_rest_is(tmp_path):
    pieces = tuple(Damage(offset, "cut short", b"xyz") for offset in range(5))
    report = DamageReport(tmp_path / "m.jsonl", pieces, 7)
    assert "7 records were read; damaged lines: 5" in str(report) and "until the next write" in str(report)
    assert "3 bytes at 2: cut short; and 2 more" in str(report)
    assert "set aside in m.corrupt" in str(DamageReport(report.path, pieces, 7, tmp_path / "m.corrupt"))


# -- bytes on disk -------------------------------------------------------------------------------------------------

def test_append_separates_a_last_line_without_newline(tmp_path):
    file = tmp_path / "log"
    file.write_bytes(b"a")
    assert append_line(file, b"b\n")[0] == 1
    assert append_line(file, b"c\n")[0] == 4
    assert file.read_bytes() == b"a\nb\nc\n"
    with pytest.raises(FileNotFoundError):  # a lost file is not begun again with one record
        append_line(tmp_path / "gone", b"x\n")
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_append_replace_or_new_file_leaves_every_byte_as_it_was(tmp_path, monkeypatch, error):
    file = tmp_path / "log"
    file.write_bytes(b"old\n")

    def fail(descriptor):
        raise error
    monkeypatch.setattr(os, "fsync", fail)
    for act in (lambda: append_line(file, b"new\n"), lambda: replace_file(file, b"new\n"),
                lambda: add_file(tmp_path / "copy", b"new\n")):
        with pytest.raises(type(error)):
            act()
        assert file.read_bytes() == b"old\n"
        assert os.listdir(tmp_path) == ["log"]


def test_replace_waits_for_a_reader_that_windows_lets_stand_in_the_way(tmp_path, monkeypatch):
    file, refusals, real = tmp_path / "log", [], os.replace
    file.write_bytes(b"old\n")

    def busy(source, target):
        if len(refusals) < limit:
            refusals.append(1)
            raise PermissionError(13, "The process cannot access the file")
        real(source, target)
    monkeypatch.setattr(os, "replace", busy)
    monkeypatch.setattr(durable.time, "sleep", lambda seconds: None)
    limit = 5
    replace_file(file, b"new\n")
    assert file.read_bytes() == b"new\n" and len(refusals) == 5
    limit = 10_000
    with pytest.raises(PermissionError):
        replace_file(file, b"newer\n")
    assert len(refusals) == 5 + durable.RENAME_TRIES
    assert file.read_bytes() == b"new\n" and os.listdir(tmp_path) == ["log"]


def test_replace_keeps_the_permissions(tmp_path):
    file = tmp_path / "log"
    file.write_bytes(b"old")
    file.chmod(0o600)
    replace_file(file, b"new")
    assert stat.S_IMODE(file.stat().st_mode) in (0o600, 0o666)  # Windows knows only read-only or not


def test_a_new_file_takes_the_next_free_name(tmp_path):
    paths = [add_file(tmp_path / "m.corrupt", text) for text in (b"1", b"2", b"3")]
    assert [path.name for path in paths] == ["m.corrupt", "m.corrupt-1", "m.corrupt-2"]
    assert [path.read_bytes() for path in paths] == [b"1", b"2", b"3"]


# -- the journal ---------------------------------------------------------------------------------------------------

def test_a_second_reader_sees_what_the_first_appends_and_only_that(tmp_path):
    write(tmp_path / "log", EVENTS[0])
    one, other = Journal(tmp_path / "log"), Journal(tmp_path / "log")
    seen, starts = [], []
    for log in (one, other):
        log.catch_up(seen.append, starts.append)
    assert seen == [EVENTS[0]] * 2 and starts == [HEADER] * 2
    with one.lock():
        one.append(EVENTS[1])
    one.catch_up(seen.append, starts.append)
    assert len(seen) == 2  # its own record is not news
    other.catch_up(seen.append, starts.append)
    assert seen[2:] == [EVENTS[1]] and len(starts) == 2
    assert list(other.records()) == EVENTS[:2]


def test_a_record_written_past_the_lock_is_read_all_the_same(tmp_path):
    write(tmp_path / "log", EVENTS[0])
    log, records = read(tmp_path / "log")
    with (tmp_path / "log").open("ab") as file:
        file.write(encode(EVENTS[1]))
    with log.lock():
        log.append(EVENTS[2])
    log.catch_up(records.append, lambda header: records.clear())
    assert records == EVENTS[:3]


def test_a_replaced_file_is_read_from_the_start(tmp_path):
    write(tmp_path / "log", *EVENTS)
    one, other = read(tmp_path / "log")[0], Journal(tmp_path / "log")
    records = []
    other.catch_up(records.append, lambda header: records.clear())
    with one.lock():
        one.replace(HEADER | {"log": "2"}, [*EVENTS[:2], *EVENTS[:4]])
    other.catch_up(records.append, lambda header: records.clear())
    assert records == [*EVENTS[:2], *EVENTS[:4]]


def test_one_damaged_line_of_five_leaves_four_and_is_reported(tmp_path):
    lines = [encode(event) for event in EVENTS]
    lines[2] = lines[2].replace(b"quoted", b"quotes")
    (tmp_path / "log").write_bytes(encode(HEADER) + b"".join(lines))
    log, records = read(tmp_path / "log")
    assert records == list(log.records()) == [*EVENTS[:2], *EVENTS[3:]]
    assert [piece.data for piece in log.damage.pieces] == [lines[2]]
    assert log.damage.pieces[0].offset == len(encode(HEADER) + b"".join(lines[:2])) and log.damage.kept == 4
    report, old = log.set_aside("T")
    assert report.saved_to.name == "log.corrupt-T" and report.saved_to.read_bytes() == lines[2] and old is None


def test_a_line_the_reader_cannot_make_sense_of_is_damage_too(tmp_path):
    write(tmp_path / "log", *EVENTS)

    def refuse_four(event):
        if event["text"] == "four":
            raise BadLine("unknown event")
    log = Journal(tmp_path / "log")
    log.catch_up(refuse_four, lambda header: None)
    assert log.damage.pieces[0].reason == "unknown event"
    assert [event["text"] for event in log.records()][-2:] == ['a "quoted"\nline', "five"]


def test_an_unfinished_last_line_waits_and_a_finished_one_without_newline_counts(tmp_path):
    last = encode(EVENTS[4]).rstrip(b"\n")
    write(tmp_path / "log", *EVENTS[:4], tail=last[:-7])
    log, records = read(tmp_path / "log")
    assert records == EVENTS[:4] and log.torn and log.damage.pieces[0].data == last[:-7]
    write(tmp_path / "log", *EVENTS[:4], tail=last)
    log.catch_up(records.append, lambda header: records.clear())
    assert records == EVENTS and not log.torn and log.damage is None
    with log.lock():
        log.append(EVENTS[0])
    assert read(tmp_path / "log")[1] == [*EVENTS, EVENTS[0]]


def test_a_carriage_return_in_a_damaged_line_does_not_split_it(tmp_path):
    write(tmp_path / "log", EVENTS[0], tail=b"half\rhalf\n" + encode(EVENTS[1]))
    log, records = read(tmp_path / "log")
    assert records == list(log.records()) == EVENTS[:2] and len(log.damage.pieces) == 1


def test_line_ends_and_byte_order_mark_of_an_editor_do_no_harm(tmp_path):
    data = b"".join(map(encode, [HEADER, *EVENTS]))
    (tmp_path / "log").write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    log, records = read(tmp_path / "log")
    assert records == list(log.records()) == EVENTS and log.damage is None


@pytest.mark.parametrize("content", [b"{}", b"{}\n", b"hello", b"\x00" * 50, encode(HEADER)[:40], b'{"id": 1}\n' * 3,
                                     b"[", b'["a"]', b'"text"', b'{"format": "vector-memory", "version": 9}\n'])
def test_a_foreign_file_is_an_error_that_names_it_and_is_not_touched(tmp_path, content):
    (tmp_path / "m.jsonl").write_bytes(content)
    for _ in range(2):  # the second attempt of the same object, too
        log = Journal(tmp_path / "m.jsonl")
        for _ in range(2):
            with pytest.raises(NotAMemory, match=r"m\.jsonl: .*expected.*nothing was written"):
                log.catch_up(lambda event: None, lambda header: None)
    assert (tmp_path / "m.jsonl").read_bytes() == content and os.listdir(tmp_path) == ["m.jsonl"]


def test_a_damaged_header_costs_the_header_only(tmp_path):
    write(tmp_path / "log", *EVENTS)
    data = (tmp_path / "log").read_bytes()
    (tmp_path / "log").write_bytes(b"X" + data[1:])
    log, records = read(tmp_path / "log")
    assert records == list(log.records()) == EVENTS and log.header == {}
    assert log.damage.pieces[0].reason.startswith("header")


def test_a_file_that_vanishes_or_is_emptied_under_a_reader_is_not_taken_for_a_new_one(tmp_path):
    write(tmp_path / "log", *EVENTS)
    log, records = read(tmp_path / "log")
    (tmp_path / "log").write_bytes(b"")
    for _ in range(2):
        with pytest.raises(JournalError, match="the file is empty now; put it back"):
            log.catch_up(records.append, lambda header: records.clear())
    (tmp_path / "log").unlink()
    for _ in range(2):
        with pytest.raises(JournalError, match="it has disappeared; put it back"):
            log.catch_up(records.append, lambda header: records.clear())
    assert records == EVENTS


def test_errors_of_the_disk_name_the_file_and_what_is_left(tmp_path, monkeypatch):
    write(tmp_path / "log", *EVENTS)
    log, before = read(tmp_path / "log")[0], (tmp_path / "log").read_bytes()

    def fail(*anything):
        raise OSError(28, "No space left on device")
    with log.lock():
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(JournalError, match=r"log: nothing was added, and the 5 records before are intact \(No sp"):
            log.append(EVENTS[0])
        with pytest.raises(JournalError, match="was not replaced, and its 5 records are intact"):
            log.replace(HEADER, [])
        log._bad.append(Damage(0, "", b"x"))
        with pytest.raises(JournalError, match="could not be set aside, and nothing was changed"):
            log.set_aside("T")
    assert (tmp_path / "log").read_bytes() == before
    assert JournalError(28, "x").errno == 28
    with pytest.raises(JournalError, match="could not be read"):
        read(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    below_a_file = Journal(tmp_path / "file" / "log")
    with pytest.raises(JournalError, match="could not be locked for writing"), below_a_file.lock():
        pass


@pytest.mark.skipif(os.name != "posix", reason="only there are folders synced; nothing to test elsewhere")
def test_a_folder_that_cannot_be_synced_takes_nothing_back(tmp_path, monkeypatch):
    """Some network file systems answer so; the file itself is on the disk by then."""
    sync = os.fsync

    def refuses_folders(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument")
        sync(descriptor)
    monkeypatch.setattr(os, "fsync", refuses_folders)
    write(tmp_path / "log", *EVENTS)
    log, _ = read(tmp_path / "log")
    with log.lock():
        log.replace(HEADER, EVENTS[:2])
    assert read(tmp_path / "log")[1] == EVENTS[:2]


def test_a_lock_that_is_not_given_back_is_an_error_and_no_endless_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "LOCK_SECONDS", 0.05)
    taken, done = threading.Event(), threading.Event()

    def hold():
        with Journal(tmp_path / "log").lock():
            taken.set()
            done.wait(10)
    holder = threading.Thread(target=hold)
    holder.start()
    assert taken.wait(10)
    try:
        with pytest.raises(JournalError, match="another process holds it"), Journal(tmp_path / "log").lock():
            pass
    finally:
        done.set()
        holder.join()
    with Journal(tmp_path / "log").lock():
        assert (tmp_path / "log.lock").exists()


def test_a_link_and_a_changed_folder_lead_to_the_same_file(tmp_path, monkeypatch):
    write(tmp_path / "log", *EVENTS)
    monkeypatch.chdir(tmp_path)
    log, _ = read("log")
    monkeypatch.chdir("/")
    assert list(log.records()) == EVENTS and str(log.path) == "log"
    try:
        (tmp_path / "link").symlink_to("log")
    except OSError:
        assert os.name == "nt"  # there, links need a privilege
        return
    linked = read(tmp_path / "link")[0]
    with linked.lock():
        linked.replace(HEADER, EVENTS[:1])
    assert (tmp_path / "link").is_symlink() and read(tmp_path / "log")[1] == EVENTS[:1]


def test_companions_are_found_by_name(tmp_path):
    for name in ("log.corrupt-1", "log.vectors.npz", "other.corrupt-1", "log.lock"):
        (tmp_path / name).write_bytes(b"")
    assert Journal(tmp_path / "log").leftovers() == ["log.corrupt-1", "log.vectors.npz"]


def test_a_proof_is_the_digest_of_a_beginning(tmp_path):
    write(tmp_path / "log", *EVENTS)
    log = Journal(tmp_path / "log")
    assert log.proof(10) == log.proof(10) != log.proof(11) and len(log.proof(10)) == 64
    assert log.proof(10 ** 6) == ""
