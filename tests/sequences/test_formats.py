"""Alignments as servers and people write them: read rightly, or refused in words that help."""

import codecs
import gzip
from pathlib import Path

import numpy as np
import pytest

import harmonium as hm
from harmonium.sequences import file_and_family, is_alignment, read_sequences

RNG = np.random.default_rng(0)
PROTEINS = ["".join(row) for row in RNG.choice(list("ACDEFGHIKLMNPQRSTVWY"), (12, 20))]
GENES = ["".join(row) for row in RNG.choice(list("ACGT"), (12, 20))]
NAMES = [f"s{i}" for i in range(12)]
NUMBERED = ["row_1", "row_2", "row_3"]
AS_LETTERS = "letters are in lower case, and none marks an insertion"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def fasta(rows, names=NAMES):
    return "".join(f">{name}\n{row}\n" for name, row in zip(names, rows, strict=False))


def stockholm(rows, names=NAMES, head=""):
    lines = "".join(f"{name} {row}\n" for name, row in zip(names, rows, strict=False))
    return f"# STOCKHOLM 1.0\n{head}{lines}//\n"


def in_blocks(rows, names=NAMES, first="{}  ", later="{}  ", below="", width=8):
    """Return sequences in blocks of lines that are parted by blank lines."""
    blocks = []
    for start in range(0, len(rows[0]), width):
        head = later if start else first
        lines = [
            head.format(n) + row[start : start + width] for n, row in zip(names, rows, strict=False)
        ]
        blocks.append("\n".join(lines) + f"\n{below}")
    return "\n".join(blocks)


def clustal(rows, title="CLUSTAL W (1.83) multiple sequence alignment"):
    return f"{title}\n\n\n" + in_blocks(rows, below="      *:. *\n")


def phylip(rows, names=NAMES, **form):
    return f" {len(rows)} {len(rows[0])}\n" + in_blocks(rows, names, later="", **form)


def read(content, name="family.fasta"):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_sequences(name)


def letters(raw):
    return [row.tobytes().decode() for row in raw.letters]


def refusal(content, name="family.fasta"):
    with pytest.raises(hm.InputError) as refused:
        read(content, name)
    return str(refused.value)


# --- A3M of servers -------------------------------------------------------------------------


def test_what_colabfold_adds_is_set_aside():
    for end in ("\0", "\0\n", "\n\0\0"):
        raw = read("#20\t1\n" + fasta(PROTEINS) + end, "x.a3m")
        assert letters(raw) == PROTEINS
        assert raw.lines[0] == 2
        assert raw.notes == ("x.a3m: 1 line of comments set aside, the first '#20\\t1'.",)


def test_answers_of_colabfold_to_one_query_are_one_family():
    first = fasta(PROTEINS[:6], ["101", *"abcde"])
    second = [PROTEINS[0], *PROTEINS[6:]]
    raw = read(first + "\0" + fasta(second, ["101", *"fghijk"]) + "\0", "x.a3m")
    assert letters(raw) == PROTEINS
    assert raw.notes == ("x.a3m: 1 repeated sequence dropped.",)
    assert raw.lines[6] == 15


def test_answers_of_colabfold_to_two_queries_are_two_families():
    short = [row[:15] for row in PROTEINS[6:]]
    both = fasta(PROTEINS[:6], ["101", *"abcde"]) + "\0" + fasta(short, ["102", *"fghij"]) + "\0"
    assert "got 2 families: 101, 102; choose one, such as x.a3m:101" in refusal(both, "x.a3m")
    for choice in ("102", "2"):
        chosen = read_sequences(f"x.a3m:{choice}")
        assert letters(chosen) == short
        assert chosen.notes == ("x.a3m: 102, one of 2 families.",)


def test_rows_of_structure_are_set_aside():
    rows = [(">ss_dssp", "HHHHH-----" * 2), (">ss_pred PSIPRED", "HHHHHCCCCC" * 2)]
    rows += [(">ss_conf", "9876543210" * 2), (">aa_dssp", "A" * 20), (">q_consensus", "X" * 20)]
    raw = read("".join(f"{name}\n{row}\n" for name, row in rows) + fasta(PROTEINS), "x.a3m")
    assert letters(raw) == PROTEINS
    shown = "ss_dssp, ss_pred, ss_conf, aa_dssp, q_consensus"
    assert raw.notes == (f"x.a3m: 5 rows of structure or consensus set aside ({shown}).",)
    assert "got none" in refusal(">ss_pred\nHHH\n")
    assert read(fasta(["ACD", "ACE"], ["ss_predictor", "aa_1"])).names == ["ss_predictor", "aa_1"]


# --- Letters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.fasta", "x.a3m", "x.aln", "x.phy"])
@pytest.mark.parametrize("rows", [GENES, PROTEINS], ids=["DNA", "protein"])
def test_lower_case_alone_is_letters(name, rows):
    lower = [row.lower() for row in rows]
    write = {"x.aln": clustal, "x.phy": phylip}.get(name, fasta)
    raw = read(write(lower), name)
    assert letters(raw) == rows
    assert raw.notes == (f"{name}: {AS_LETTERS}.",)
    assert raw.numbers(0)[0].tolist() == list(range(1, 21))


def test_lower_case_among_capitals_is_an_insertion_in_a3m():
    rows = [row[:5] + "aa" + row[5:] for row in PROTEINS]
    assert letters(read(fasta(rows), "x.a3m")) == PROTEINS
    mixed = read(">a\nACdEF\n>b\nAcDEF\n", "x.fasta")
    assert letters(mixed) == ["ACDEF", "ACDEF"]
    assert "2 letters in lower case among capitals read as letters" in mixed.notes[0]
    assert "align them first" in refusal(fasta([PROTEINS[0], PROTEINS[1].lower()]), "x.a3m")


@pytest.mark.parametrize("gap", ["-", "_", "~", "."])
def test_gaps_of_all_programs(gap):
    rows = [row[:5] + gap + row[6:] for row in PROTEINS]
    wanted = [row[:5] + "-" + row[6:] for row in PROTEINS]
    assert letters(read(fasta(rows))) == wanted
    assert letters(read(stockholm(rows), "x.sto")) == wanted


def test_capital_n_in_lower_case_is_no_site_by_itself():
    rows = [row[:4].lower() + "NNN" + row[7:].lower() for row in GENES]
    assert letters(read(fasta(rows))) == [row[:4] + "NNN" + row[7:] for row in GENES]


def test_stops_that_end_some_sequences_are_left_out():
    rows = [row + "*" * (k % 2) for k, row in enumerate(PROTEINS)]
    raw = read(fasta(rows))
    assert letters(raw) == PROTEINS
    assert raw.notes == ("family.fasta: the stop * at the end of 6 sequences left out.",)
    read(fasta([row[:9] + "*" + row[10:] for row in GENES]))
    assert any("(*)" in note for note in hm.read_alignment("family.fasta").notes)


def test_nucleotides_with_many_ambiguous_letters_are_no_protein():
    rng = np.random.default_rng(1)
    rows = ["".join(row) for row in rng.choice(list("ACGTACGTRYSWKM"), (12, 20))]
    read(fasta(rows))
    family = hm.read_alignment("family.fasta")
    assert family.sites.alphabet.name == "dna"
    assert "ambiguous letters (KMRSWY) in 12 sequences read as gaps" in family.notes[0]
    read(fasta([row.replace("D", "L") for row in rows[:-1]] + ["L" * 20]))
    assert hm.read_alignment("family.fasta").sites.alphabet.name == "protein"


def test_t_among_rna_is_read_as_u_and_said():
    read(fasta([row.replace("T", "U") for row in GENES[:10]] + GENES[10:]))
    family = hm.read_alignment("family.fasta")
    assert family.sites.alphabet.name == "rna"
    number = sum(row.count("T") for row in GENES[10:])
    assert family.notes[0] == f"family.fasta: {number} T read as U."
    assert family.words[-1] == GENES[-1].replace("T", "U")


# --- Names ------------------------------------------------------------------------------------


def test_repeated_names_are_numbered():
    raw = read(fasta(PROTEINS[:4], ["a/1-20", "a/1-20", "b", "b"]))
    assert raw.names == ["a/1-20", "a_2/1-20", "b", "b_2"]
    assert raw.notes == ("family.fasta: 2 repeated names numbered, such as a_2/1-20.",)
    assert read(fasta(PROTEINS[:4], ["a", "a_2", "a", "a"])).names == ["a", "a_2", "a_3", "a_4"]
    assert read(fasta(PROTEINS[:2], "xx"), "x.a3m").names == ["x", "x_2"]


def test_sequences_that_share_the_first_word_alone_are_no_copies():
    same = [PROTEINS[0], PROTEINS[0], PROTEINS[0]]
    raw = read(fasta(same, ["seq 1", "seq 2", "seq 2"]))
    assert raw.names == ["seq", "seq_2"]
    assert raw.titles == ["seq 1", "seq 2"]


# --- Stockholm --------------------------------------------------------------------------------

PFAM = "#=GF ID   Response_reg\n#=GF AC   PF00072.27\n"
OTHER = "#=GF ID   HATPase_c\n#=GF AC   PF02518.29\n"
TWO = stockholm(PROTEINS[:6], head=PFAM) + stockholm([row[:15] for row in PROTEINS], head=OTHER)


def test_one_of_several_families_is_chosen_by_name():
    assert "got 2 families: PF00072, PF02518; choose one, such as x.sto:PF00072" in refusal(
        TWO, "x.sto"
    )
    for choice in ("PF02518", "pf02518.29", "HATPase_c", "2"):
        raw = read_sequences(f"x.sto:{choice}")
        assert letters(raw) == [row[:15] for row in PROTEINS]
        assert raw.notes == ("x.sto: PF02518 HATPase_c, one of 2 families.",)
    for choice in ("PF00001", "3", "0"):
        with pytest.raises(hm.InputError, match=f"one family named '{choice}'; got 2 families"):
            read_sequences(f"x.sto:{choice}")
    table = hm.open_source("x.sto:PF00072")
    assert (table.name, table.train.shape) == ("x-PF00072", (6, 20))
    family = hm.read_alignment("x.sto:PF00072")
    assert family.notes[0] == "x.sto: PF00072 Response_reg, one of 2 families."


def test_a_family_of_one_is_chosen_by_its_name_too():
    read(gzip.compress(stockholm(PROTEINS, head=PFAM).encode()), "x.sto.gz")
    assert letters(read_sequences("x.sto.gz:PF00072")) == PROTEINS
    with pytest.raises(hm.InputError, match="got one family: PF00072"):
        read_sequences("x.sto.gz:PF1")


def test_families_without_a_name_are_numbered():
    whole = stockholm(PROTEINS[:6]) + stockholm(PROTEINS[6:])
    for content in (whole, whole.replace("//\n#", "//\n\n#"), whole.replace("//\n", "", 1)):
        assert "got 2 families: 1, 2; choose one" in refusal(content, "x.sto")
        assert letters(read_sequences("x.sto:2")) == PROTEINS[6:]


def test_families_of_one_name_are_told_apart_by_numbers():
    whole = stockholm(PROTEINS[:6], head=PFAM) + stockholm(PROTEINS[6:], head=PFAM)
    message = refusal(whole, "x.sto")
    assert "2 families: 1 (PF00072), 2 (PF00072); choose one, such as x.sto:1" in message
    assert letters(read_sequences("x.sto:2")) == PROTEINS[6:]
    with pytest.raises(hm.InputError, match="got 2 families of that name"):
        read_sequences("x.sto:PF00072")


def test_repeated_names_in_stockholm_are_never_joined():
    pairs = [f"chr{k // 2}" for k in range(12)]
    raw = read(stockholm(PROTEINS, pairs), "x.sto")
    assert letters(raw) == PROTEINS
    assert raw.names[:4] == ["chr0", "chr0_2", "chr1", "chr1_2"]
    once = [f"chr{3 if k == 9 else k}" for k in range(12)]
    assert read(stockholm(PROTEINS, once), "x.sto").names[9] == "chr3_2"
    assert letters(read(stockholm(PROTEINS, ["x"] * 12), "x.sto")) == PROTEINS


def test_lines_of_blocks_are_joined():
    head = "# STOCKHOLM 1.0\n\n"
    assert letters(read(head + in_blocks(PROTEINS) + "//\n", "x.sto")) == PROTEINS
    pairs = [f"c{k // 2}" for k in range(12)]
    raw = read(head + in_blocks(PROTEINS, pairs) + "//\n", "x.sto")
    assert (letters(raw), raw.names[1]) == (PROTEINS, "c0_2")
    raw = read((head + in_blocks(PROTEINS)).replace("\n\n", "\n") + "//\n", "x.sto")
    assert letters(raw) == PROTEINS
    assert raw.notes == ("x.sto: 3 blocks with the same 12 names in the same order are joined.",)


def test_blank_lines_between_sequences_make_no_blocks():
    raw = read(stockholm(PROTEINS).replace("\ns", "\n\ns"), "x.sto")
    assert letters(raw) == PROTEINS


def test_blocks_that_do_not_fit_are_refused():
    whole = "# STOCKHOLM 1.0\n\n" + in_blocks(PROTEINS)
    without = whole.rsplit("\n", 2)[0] + "\n//\n"
    assert "'s0' in lines 3 and 16, in blocks whose other names differ" in refusal(without, "x.sto")
    ragged = "# STOCKHOLM 1.0\n\na ACDEF\nb ACDE\n\na ACD\nb ACDE\n//\n"
    assert "5 letters in line 4, as in line 3; got 4 for 'b'" in refusal(ragged, "x.sto")


def test_a_file_that_was_cut_short_is_told():
    raw = read(stockholm(PROTEINS).replace("//\n", ""), "x.sto")
    assert raw.notes == ("x.sto: the final line // is missing: perhaps the file was cut short.",)


# --- Clustal and PHYLIP -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "title",
    [
        "CLUSTAL W (1.83) multiple sequence alignment",
        "CLUSTAL O(1.2.4) multiple sequence alignment",
        "CLUSTAL format alignment by MAFFT FFT-NS-2 (v7.310)",
        "CLUSTAL FORMAT for T-COFFEE Version_9.03",
        "MUSCLE (3.8) multiple sequence alignment",
        "CLUSTAL",
    ],
)
def test_clustal(title):
    for content in (clustal(PROTEINS, title), clustal(PROTEINS, title).replace("      *:. *", "")):
        for name in ("x.aln", "x.clustal", "x.clw", "x.txt"):
            raw = read(content, name)
            assert (letters(raw), raw.names, raw.notes) == (PROTEINS, NAMES, ())


def test_clustal_with_numbers_of_residues_or_damage():
    counted = "CLUSTAL\n\na  ACD 3\nb  A-D 2\n   * *\n\na  EF 5\nb  EF 4\n"
    assert letters(read(counted, "x.aln")) == ["ACDEF", "A-DEF"]
    assert "a name and letters in each line" in refusal(clustal(PROTEINS) * 2, "x.aln")
    cut = clustal(PROTEINS)[:-40]
    assert "family" not in refusal(cut, "x.aln")
    assert "got none" in refusal("CLUSTAL W\n\n", "x.aln")


def strict_names(names):
    return [name.ljust(10) for name in names]


def one_by_one(rows, names, width=8):
    parts = [f" {len(rows)} {len(rows[0])}"]
    for name, row in zip(names, rows, strict=False):
        parts.append(name + row[:width])
        parts += [row[start : start + width] for start in range(width, len(row), width)]
    return "\n".join(parts) + "\n"


PHYLIPS = {
    "relaxed, in blocks": phylip(PROTEINS),
    "relaxed, one line each": phylip(PROTEINS, width=60),
    "relaxed, one by one": one_by_one(PROTEINS, [f"{name}  " for name in NAMES]),
    "relaxed, the name in a line": one_by_one(PROTEINS, [f"{name}\n" for name in NAMES]),
    "strict, in blocks": phylip(PROTEINS, strict_names(NAMES), first="{}"),
    "strict, one by one": one_by_one(PROTEINS, strict_names(NAMES)),
    "with an option": phylip(PROTEINS).replace(" 12 20", "12 20 I"),
    "with groups of ten": phylip([f"{row[:10]} {row[10:]}" for row in PROTEINS], width=60).replace(
        " 12 21", " 12 20"
    ),
}


@pytest.mark.parametrize("content", PHYLIPS.values(), ids=PHYLIPS.keys())
def test_phylip(content):
    for name in ("x.phy", "x.phylip", "x.txt"):
        raw = read(content, name)
        assert (letters(raw), raw.names, raw.notes) == (PROTEINS, NAMES, ())


def test_names_of_phylip_that_touch_the_letters():
    names = ["Homo sapie", *(f"x{k}".ljust(10, "y") for k in range(11))]
    raw = read(phylip(PROTEINS, names, first="{}"), "x.phy")
    assert letters(raw) == PROTEINS
    assert raw.titles[0] == "Homo sapie"
    long = [f"a_very_long_name_{k}" for k in range(12)]
    assert read(phylip(PROTEINS, long), "x.phy").names == long


def test_phylip_that_is_not_what_its_first_line_says():
    whole = phylip(PROTEINS)
    for content in (whole.replace(" 20", " 21"), whole.replace(" 12", " 11"), whole * 2):
        assert "as line 1 states; got a different number" in refusal(content, "x.phy")
    dots = phylip([PROTEINS[0], "." * 20])
    assert "gaps or the letters of the first sequence" in refusal(dots, "x.phy")


# --- A sequence in each line, and text of other systems -----------------------------------------


@pytest.mark.parametrize("name", ["x.aln", "x.psicov", "x.txt", "x"])
def test_a_sequence_in_each_line(name):
    raw = read("\n".join(PROTEINS[:3]) + "\n", name)
    assert (letters(raw), raw.names, raw.lines) == (PROTEINS[:3], NUMBERED, [1, 2, 3])
    assert "each line is a sequence without a name" in raw.notes[0]
    assert hm.open_source(f"./{name}").train.shape == (3, 20)


def test_a_name_and_a_sequence_in_each_line():
    raw = read("".join(f"{n}   {row}\n" for n, row in zip(NAMES, PROTEINS, strict=True)), "x.psi")
    assert (letters(raw), raw.names) == (PROTEINS, NAMES)
    assert "'row_3' (line 3) with 3; align them" in refusal(f"{'A' * 9}\n{'C' * 9}\nACD\n", "x.aln")


def test_lines_in_blocks_are_joined_by_name_or_refused():
    raw = read(in_blocks(PROTEINS, width=10), "x.slx")
    assert (letters(raw), raw.names) == (PROTEINS, NAMES)
    nameless = in_blocks(PROTEINS, first="", later="", width=10)
    assert "got blocks of lines without names" in refusal(nameless, "x.aln")
    assert letters(read("\n\n".join(PROTEINS), "x.aln")) == PROTEINS
    assert "'ACDEF' in line 2" in refusal("a ACDEF\nACDEF\n", "x.aln")


@pytest.mark.parametrize(
    "content",
    [
        "5 20\n1 2\n3 4\n6 7\n",
        "aberration\nabdication\nabsolution\naccelerate\nindulgence\n",
        "COMPLETELY\nMODERATELY\n" * 9,
        "ACTIVE\nCLOSED\n",
        "010101\n111100\n",
        "X Z Z\nZ Z X\n",
        "# a b\n1 2\n3 4\n",
        "> 3\n< 4\n",
        "",
    ],
)
def test_other_text_is_no_alignment(content):
    Path("x.txt").write_text(content)
    assert not is_alignment(Path("x.txt"))


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_of_all_systems(end):
    writers = {"x.fasta": fasta, "x.sto": stockholm, "x.aln": clustal, "x.phy": phylip}
    for name, write in writers.items():
        raw = read(write(PROTEINS).replace("\n", end), name)
        assert (letters(raw), raw.names) == (PROTEINS, NAMES)
        assert raw.lines == read(write(PROTEINS), name).lines
    assert letters(read(end.join(PROTEINS), "x.txt")) == PROTEINS


def test_encodings_of_all_systems():
    for content in (codecs.BOM_UTF8 + fasta(PROTEINS).encode(), fasta(PROTEINS).encode("utf-16")):
        assert letters(read(content)) == PROTEINS
    assert "binary content" in refusal(fasta(PROTEINS).encode("utf-16-le"))
    assert letters(read(gzip.compress(clustal(PROTEINS).encode()), "x.txt.gz")) == PROTEINS


def test_comments_and_descriptions():
    raw = read(";one\n" + fasta(PROTEINS) + "#two\n")
    assert letters(raw) == PROTEINS
    assert raw.notes == ("family.fasta: 2 lines of comments set aside, the first ';one'.",)
    pir = "".join(f">P1;{n}\nA protein\n{row}*\n" for n, row in zip(NAMES, PROTEINS, strict=True))
    assert letters(read(pir, "x.pir")) == PROTEINS


@pytest.mark.parametrize(
    ("content", "description"),
    [
        ("#NEXUS\nbegin data;\n", "NEXUS"),
        ("PileUp\n\n MSF: 20\n", "MSF"),
        ("HMMER3/f [3.1b2]\n", "a profile HMM"),
        ("<html>\n", "XML, HTML or JSON"),
        ("PK\x03\x04", "an archive"),
        ("LOCUS       SCU49845\n", "GenBank"),
        ("hello\n>a\nAC\n", "a file that begins with 'hello'"),
        ("one, two\n", "a file that begins with 'one, two'"),
    ],
)
def test_other_formats_are_named(content, description):
    message = refusal(content, "x.aln")
    assert f"got {description}" in message
    assert message.endswith("write sequences as FASTA, each after a line with '>' and its name.")


def test_a_file_wins_over_a_family_of_that_name():
    read(fasta(PROTEINS), "x.sto:1")
    assert file_and_family("x.sto:1")[1] is None
    assert file_and_family("none.sto:1")[1] == "1"
    assert file_and_family("rows.npz:train")[1] is None


def test_a_name_that_no_file_can_have_is_no_alignment():
    assert not is_alignment(Path("x" * 5000))
    assert file_and_family("x" * 5000 + ":y")[1] is None


def test_the_content_of_a_packed_text_file_is_looked_at_to_its_beginning_alone():
    rows = [letter + "ACDEFGHIKL" * 20 for letter in "ACDEFGHIKLMNPQRSTVWY"] * 40
    rows = [row[: k % 200] + "W" + row[k % 200 :] for k, row in enumerate(rows)]
    content = gzip.compress("\n".join(rows).encode())
    Path("x.txt.gz").write_bytes(content)
    assert is_alignment(Path("x.txt.gz"))
    Path("x.txt.gz").write_bytes(content[:5])
    assert not is_alignment(Path("x.txt.gz"))
