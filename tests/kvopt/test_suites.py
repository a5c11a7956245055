"""Suites: every committed one can be planned, and every fault is one line that names its place."""

from dataclasses import replace
from pathlib import Path

import pytest

from instances import Instance, Request, write_instance
from instances.families import families
from instances.ladder import read_ladder
from kvopt.best_known import read_registry
from kvopt.best_known.registry_entry import LADDER_FILE
from kvopt.methods.grammar import read_method
from kvopt.suites import SuiteError, SuiteSection, load, read_suite, suites
from kvopt.suites.instance_sources import file_source
from kvopt.sweeps.plan import plan
from kvopt.sweeps.sweep_inputs import InputError, Wishes, read_inputs

HEAD = 'summary = "a test"\n[[section]]\nname = "p"\nmethods = ["svf"]\n'
TINY = HEAD + 'instances = ["tiny/*.json"]\n'
CHAT = HEAD + 'instances = [{family = "chat", '


def _write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _refused(folder: Path, text: str) -> str:
    with pytest.raises(SuiteError) as caught:
        read_suite(_write(folder, text))
    line = str(caught.value)
    assert "\n" not in line
    assert "mine.toml: " in line
    return line.split("mine.toml: ", 1)[1]


@pytest.mark.parametrize("name", suites())
def test_every_suite_is_whole(name: str) -> None:
    """All methods of a committed suite exist, and so do all its instances."""
    suite = read_suite(name)
    assert suite.name == name
    assert suite.summary
    for section in suite.sections:
        assert section.methods
        # The first and the last draw of each section: the rest differ in their seeds only.
        for source in {section.sources[0], section.sources[-1]}:
            assert load(source).fault == ""


def test_every_suite_is_described() -> None:
    """The table of the README has a line for each suite, and none for one that is gone."""
    readme = (Path(__file__).parents[2] / "kvopt" / "suites" / "README.md").read_text("utf-8")
    told = {line.split("`")[1] for line in readme.splitlines() if line.startswith("| `")}
    assert told == set(suites())


@pytest.mark.parametrize("name", ["smoke", "nightly"])
def test_the_everyday_suites_can_be_planned(name: str) -> None:
    """Every run of the suite has an instance that was read, and no two runs are the same."""
    suite = read_suite(name)
    tasks = plan(suite.sections)
    assert [task.fault for task in tasks if task.fault] == []
    assert len({task.key for task in tasks}) == len(tasks)
    assert {task.section for task in tasks} == {section.name for section in suite.sections}
    # The names of drawn instances tell them apart, so that tables can be read.
    named = {(task.name, task.instance.sha256) for task in tasks if task.instance}
    assert len({name for name, _ in named}) == len(named)


@pytest.mark.slow("walks")
def test_the_nightly_covers_the_library() -> None:
    """Every instance of the library is run, so that the registry has a schedule of each."""
    from instances.library import library

    tasks = plan(read_suite("nightly").sections)
    hashes = {task.instance.sha256 for task in tasks if task.instance}
    chosen = {each.sha256 for _, each in library() if each.family == "worst-case"}
    assert {instance.sha256 for _, instance in library()} - chosen <= hashes
    assert chosen
    assert not chosen & hashes


def test_the_campaign_covers_what_is_open() -> None:
    """Every instance without a known optimum gets its ten minutes, each of them once."""
    registry = read_registry()
    assert registry is not None
    tasks = plan(read_suite("open").sections)
    hashes = [task.instance.sha256 for task in tasks if task.instance]
    still = {each.sha256 for each in registry.instances if each.gap and each.file != LADDER_FILE}
    assert still <= set(hashes)
    assert len(set(hashes)) == len(hashes) == len(tasks)
    assert {(task.method.text, task.time_limit) for task in tasks} == {("auto", 600.0)}


def test_the_ladder_is_covered_once() -> None:
    """Each instance by the default method with a minute, and small ones by two other proofs."""
    suite = read_suite("ladder")
    names = [source.name for section in suite.sections[1:] for source in section.sources]
    assert sorted(names) == sorted(read_ladder())
    small = {source.name for source in suite.sections[0].sources}
    assert small == {name for name, rung in read_ladder().items() if rung.n <= 12}
    assert small < set(names)
    drawn = load(suite.sections[0].sources[0]).instance
    assert drawn is not None
    assert drawn.sha256 == read_ladder()[drawn.name].sha256


def test_a_suite_of_ones_own(tmp_path: Path) -> None:
    """Globs after ./ are relative to the file; what is not given has its default."""
    write_instance(families()["am1"].generate(seed=3, n=2), tmp_path / "one.json")
    text = HEAD + 'instances = ["./*.json", "tiny/h*.json", {family = "am1", seeds = [2, 4]}]\n'
    section = read_suite(_write(tmp_path, text)).sections[0]
    names = [load(source).name for source in section.sources]
    tiny = ["tiny_handover", "tiny_handover_ramp", "tiny_horizon"]
    assert names[:4] == ["am1_n2_seed3", *tiny]
    assert [name.rpartition("_")[2] for name in names[4:]] == ["seed2", "seed3"]
    rest = (read_method("svf"),), 1, 60.0, None, 1, True, "policies"
    assert section == SuiteSection("p", section.sources, *rest)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "summary: Field required"),
        ("summary = ", "Invalid value"),
        ('summary = "a"\nsection = [3]', "section.0: "),
        (HEAD + "instances = []", "section.0.instances: "),
        (HEAD + 'instances = ["nope/*"]', "section 'p', instances: 'nope/*' matches no file"),
        (HEAD + 'instances = ["best_known.json"]', "'best_known.json' matches no file"),
        (HEAD + "instances = [3]", "section.0.instances.0.glob: "),
        (TINY + "method = []", "section.0.method: unknown key"),
        (TINY + "time_limit = nan", "section.0.time_limit: "),
        (TINY + 'time_limit = "6"', "section.0.time_limit: "),
        (TINY + "threads = true", "section.0.threads: "),
        (TINY + 'role = "x"', "section.0.role: "),
        (HEAD + 'instances = [{family = "nope"}]', "instances: unknown family 'nope'"),
        (HEAD + 'instances = [{family = "am1", sets = {}}]', "instances.0.draw.sets: unknown key"),
        (HEAD + 'instances = [{family = "am1", set = {k = 1}}]', "'am1' takes n, memory"),
        (HEAD + 'instances = [{family = "am1", set = {n = "8"}}]', "family 'am1', n: "),
        (HEAD + 'instances = [{family = "am1", seeds = [2, 2]}]', "seeds of 'am1'"),
        (TINY.replace('["svf"]', '["svf", "svf"]'), "'svf' occurs twice"),
        (HEAD + "instances = " + "[" * 5000 + "]" * 5000, "found too deep a nesting"),
        (HEAD + "instances = []\nseeds = " + "1" * 5000, "Exceeds the limit (4300 digits)"),
        (TINY + "memory_limit = inf", "section.0.memory_limit: "),
        (CHAT + "seeds = [0, 2147483647]}]", "expected at most 100000 draws, found 2147483647"),
        (TINY.replace('"p"', '"a b"'), "name: "),
        (TINY + TINY.partition("\n")[2], "section 'p', name: occurs twice"),
        (CHAT + "arrival_seeds = [0, 3]}]", "goes with a rate"),
        (CHAT + "rate = 1.0, arrival_seeds = [3, 3]}]", "first < end"),
        (CHAT + "seeds = [0, 1000], rate = 1.0, arrival_seeds = [0, 1000]}]", "found 1000000"),
    ],
)
def test_faults_are_one_line(tmp_path: Path, text: str, told: str) -> None:
    """What is wrong with a file is said in one line with the section and the key."""
    assert told in _refused(tmp_path, text)


def test_a_million_runs_are_refused(tmp_path: Path) -> None:
    """Instances, methods and seeds multiplied are counted before anything is drawn or read."""
    # 60,000 instances of two methods with nine seeds: 1,080,000 runs.
    text = HEAD.replace('["svf"]', '["svf", "a-random"]')
    text += 'instances = [{family = "am1", seeds = [0, 60000]}]\nseeds = 9\n'
    with pytest.raises(InputError, match="expected at most 1000000 runs at once, found 1080000"):
        read_inputs([str(_write(tmp_path, text))], Wishes())
    assert len(read_inputs([str(_write(tmp_path, text))], Wishes(seeds=1))) == 1


def test_an_instance_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    """A damaged file and one that is infeasible end as faults with their status, under the name."""
    damaged = tmp_path / "damaged.json"
    damaged.write_text("{")
    loaded = load(file_source(damaged, "shown.json"))
    assert (loaded.instance, loaded.fault_status) == (None, "error")
    assert loaded.fault.startswith("shown.json: no valid JSON at line 1")
    # The request needs 3 + 3 tokens of 5.
    large = tmp_path / "large.json"
    write_instance(Instance("large", 6, (Request(0, 0, 3, 3),)), large)
    large.write_text(large.read_text().replace('"memory": 6', '"memory": 5'))
    assert load(file_source(large)).fault_status == "infeasible"
    gone = load(file_source(tmp_path / "gone.json", "gone.json"))
    assert gone.fault == "gone.json: cannot be read: No such file or directory"


def test_one_draw_in_several_streams(tmp_path: Path) -> None:
    """With ``rate`` a draw keeps its requests and gets arrivals in seconds, other ones a seed."""
    text = CHAT + "set = { n = 20 }, rate = 50.0, arrival_seeds = [0, 3] }]\n"
    (section,) = read_suite(_write(tmp_path, text)).sections
    drawn = [load(source).instance for source in section.sources]
    sizes = {tuple((r.prompt, r.output) for r in each.requests) for each in drawn if each}
    burst = families()["chat"].generate(seed=0, n=20).requests
    assert (len(drawn), sizes) == (3, {tuple((r.prompt, r.output) for r in burst)})
    times = {tuple(r.arrival for r in each.requests) for each in drawn if each}
    assert len(times) == 3
    assert {each.time_unit for each in drawn if each} == {"second"}
    assert len({source.name for source in section.sources}) == 3


def test_files_of_one_content_are_instances_of_their_own(tmp_path: Path) -> None:
    """Under the files' names where the instance's are one, under their own where they differ."""
    drawn = families()["chat"].generate(seed=0, n=2)
    for folder in ("", "x"):
        (tmp_path / folder).mkdir(exist_ok=True)
        write_instance(drawn, tmp_path / folder / "a.json")
    write_instance(replace(drawn, name="other"), tmp_path / "b.json")
    names = [str(tmp_path), str(tmp_path / "x"), str(tmp_path / "a.json")]
    tasks = plan(read_inputs(names, Wishes(methods=(read_method("svf"),))))
    expected = [f"{drawn.name} (a.json)", "other", f"{drawn.name} (x/a.json)"]
    assert [task.instance and task.instance.name for task in tasks] == expected
    assert len({task.key for task in tasks}) == 3


def test_a_family_is_an_input() -> None:
    """Five draws by default, each with all parameters in its name; wrong ones are named."""
    (section,) = read_inputs(["uniform(n=4,memory=120,draws=2)", "uniform(n=4)"], Wishes())
    drawn = [load(each).instance for each in section.sources]
    assert [each and (each.memory, len(each)) for each in drawn] == [(120, 4)] * 2 + [(100, 4)] * 5
    assert len({each.name for each in section.sources}) == 7
    for wrong in ("uniform(m=4)", "uniform(n=x)", "uniform(draws=0)", "uniform(draws=x)"):
        with pytest.raises(InputError, match=r"^uniform"):
            read_inputs([wrong], Wishes())
