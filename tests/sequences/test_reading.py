import gzip

import numpy as np
import pytest

import harmonium as hm
from harmonium.sequences import read_alignment, read_sequences

ROWS = ["ACDEF-GHIKLMNPQRSTVWY", "ACDEFAGHIKLMNPQRSTVWY", "-CDEFAGHIKLMNPQRSTVW-"]


def written(tmp_path, text, name="family.fasta"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def fasta(rows, names=None):
    names = names or [f"seq{i}/5-25 of a family" for i in range(len(rows))]
    return "".join(f">{name}\n{row}\n" for name, row in zip(names, rows, strict=True))


def words(raw):
    return [row.tobytes().decode() for row in raw.letters]


def test_fasta_of_one_and_of_many_lines(tmp_path):
    wrapped = fasta(ROWS).replace("GHIKL", "GHI\nKL").replace("\n", "\r\n")
    for text in (fasta(ROWS), wrapped, "\n" + fasta(ROWS)):
        raw = read_sequences(written(tmp_path, text))
        assert words(raw) == ROWS
        assert raw.names == [f"seq{i}/5-25" for i in range(3)]
        assert raw.titles[1] == "seq1/5-25 of a family"
    assert read_sequences(written(tmp_path, wrapped)).lines == [1, 4, 7]


def test_compressed(tmp_path):
    path = written(tmp_path, gzip.compress(fasta(ROWS).encode()), "family.fasta.gz")
    assert words(read_sequences(path)) == ROWS
    damaged = written(tmp_path, path.read_bytes()[:30], "damaged.fasta.gz")
    with pytest.raises(hm.InputError, match="a gzip file; got a truncated or damaged one"):
        read_sequences(damaged)


def test_insertions_are_dropped(tmp_path):
    a3m = written(tmp_path, ">a\nACDaaEF\n>b\nAC-EF\n>c\nacACDEFkk\n", "x.a3m")
    raw = read_sequences(a3m)
    assert words(raw) == ["ACDEF", "AC-EF", "ACDEF"]
    assert raw.notes == ("x.a3m: 6 insertions dropped (lower case and dots).",)
    assert raw.numbers(0)[0].tolist() == [1, 2, 3, 6, 7]
    assert raw.numbers(1)[0].tolist() == [1, 2, 0, 3, 4]
    assert raw.numbers(2)[0].tolist() == [3, 4, 5, 6, 7]
    assert raw.numbers(2)[1] == "residues, from 1"
    columns = written(tmp_path, ">a/11-15\nAC.aDE\n>b\nA-gaDE\n>c\nAC..DE\n", "x.fasta")
    raw = read_sequences(columns)
    assert words(raw) == ["ACDE", "A-DE", "ACDE"]
    numbers, how = raw.numbers(0)
    assert numbers.tolist() == [11, 12, 14, 15]
    assert how == "residues, from 11, as in the name"


def test_residues_that_were_removed_are_not_numbered(tmp_path):
    """The name tells of three more residues than there are: nobody knows where they were."""
    numbers, how = read_sequences(written(tmp_path, ">a/11-17\nAC-DE\n>b\nACDDE\n")).numbers(0)
    assert numbers.tolist() == [1, 2, 0, 4, 5]
    assert "columns of the alignment, since the name gives 7 residues but the file has 4" in how


def test_letters_of_either_case_are_read_where_columns_mix_them(tmp_path):
    raw = read_sequences(written(tmp_path, ">a\nACGt\n>b\nacgT\n>c\n..GT\n"))
    assert words(raw) == ["ACGT", "ACGT", "--GT"]


def test_stockholm_in_blocks(tmp_path):
    text = "# STOCKHOLM 1.0\n#=GF ID X\n\na/1-4 ACD\nb     A-D\n#=GC RF xxx\n\na/1-4 EF\nb EF\n//\n"
    raw = read_sequences(written(tmp_path, text, "x.sto"))
    assert (words(raw), raw.names, raw.lines) == (["ACDEF", "A-DEF"], ["a/1-4", "b"], [4, 5])
    with pytest.raises(hm.InputError, match=r"a name and letters in each line; got .* line 2"):
        read_sequences(written(tmp_path, "# STOCKHOLM 1.0\na AC DE\n//\n", "y.sto"))


def test_copies_are_dropped_and_told(tmp_path):
    raw = read_sequences(written(tmp_path, fasta([*ROWS, ROWS[0]], ["a", "b", "c", "a"])))
    assert raw.names == ["a", "b", "c"]
    assert "1 repeated sequence dropped" in raw.notes[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty file"),
        ("ACDEF\n", "a file that begins with 'ACDEF'"),
        (">a\nACDEF\n>b\nACDE\n", r"5 sites, like 'a'; got 'b' \(line 3\) with 4; align them"),
        (">a\nACDEF\n>\nACDEF\n", "a name after each '>'; got an empty name in line 3"),
        (">a\nACDEF\n>b\n>c\nACDEF\n", r"no letters after 'b' \(line 3\)"),
    ],
)
def test_what_is_no_alignment_is_named(tmp_path, text, message):
    with pytest.raises(hm.InputError, match=message):
        read_sequences(written(tmp_path, text))


def test_what_is_no_family_is_named(tmp_path):
    def refused(text, message, **options):
        with pytest.raises(hm.InputError, match=message):
            read_alignment(written(tmp_path, text), **options)

    refused(">a\nACDEF\n", "an alignment of many sequences; got a single sequence")
    refused(">a\nACD1F\n>b\nACDEF\n", r"got '1' at site 4 of 'a' \(line 1\)")
    nucleotides = fasta(["ACGTACGTAC" * 3] * 5)
    refused(nucleotides, "only the letters ACGT; leave the alphabet out", alphabet="protein")
    refused(fasta(ROWS), "auto, protein, rna, dna, or all letters", alphabet="klingon")
    refused(fasta(ROWS), "above 0 and at most 1; got 0", identity=0)
    refused(fasta(["A----", "--C--"]), "0 sequences and 2 sites", most_gaps_in_sequence=0.1)
    refused(fasta(ROWS), "a fraction from 0 to 1", most_gaps_at_site=2)
    with pytest.raises(hm.InputError, match="no such file"):
        read_sequences(tmp_path / "none.fasta")


@pytest.mark.parametrize(
    ("rows", "name", "letters"),
    [
        (["ACDEFGHIK", "ACDEFGHIL"], "protein", "-ACDEFGHIKLMNPQRSTVWY"),
        (["ACGUACGUN", "ACGUACG-A"], "rna", "-ACGU"),
        (["ACGTACGTN", "ACGTACG-A"], "dna", "-ACGT"),
    ],
)
def test_the_alphabet_is_found(tmp_path, rows, name, letters):
    alphabet = read_alignment(written(tmp_path, fasta(rows))).sites.alphabet
    assert (alphabet.name, alphabet.letters) == (name, letters)


def test_codes_and_back(tmp_path):
    rows = ["ACGUN--ACG", "ACGTA--ACG", "-CGUA--ACU", "----A--A-U"]
    alignment = read_alignment(written(tmp_path, fasta(rows)), alphabet="rna")
    assert alignment.sites.columns == (0, 1, 2, 3, 4, 7, 8, 9)
    assert alignment.codes.dtype == np.uint8
    assert alignment.codes[0].tolist() == [1, 2, 3, 4, 0, 1, 2, 3]
    assert alignment.words == ["ACGU---ACG", "ACGUA--ACG", "-CGUA--ACU"]
    notes = " ".join(alignment.notes)
    assert "1 ambiguous letter (N) in 1 sequence read as gaps" in notes
    assert "2 columns with more than 80% gaps left out" in notes
    assert "1 sequence with more than 50% gaps dropped" in notes
    again = hm.sequences.Sites.from_record(alignment.sites.record(), "sites.json")
    assert again == alignment.sites
    for damage in ({}, {"kept": [9, 1]}, {"width": 3}, {"alphabet": {"name": "x"}}):
        record = {**alignment.sites.record(), **damage} if damage else None
        with pytest.raises(hm.InputError, match=r"sites.json: expected the sites of an alignment"):
            hm.sequences.Sites.from_record(record, "sites.json")


def test_told_letters(tmp_path):
    alignment = read_alignment(written(tmp_path, fasta(["HPPH", "HHPP"])), alphabet="-HP")
    assert alignment.codes.tolist() == [[1, 2, 2, 1], [1, 1, 2, 2]]
