"""Every shipped config is parsed by exactly one script's parser: that of the folder that it lies in."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from intentfold.config import parse

ROOT = Path(__file__).parent.parent.parent
CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))
HELD = {path: yaml.safe_load(path.read_text()) for path in CONFIGS}
LEFT = [data["out"] for data in HELD.values() if "out" in data]
SCRIPTS = sorted(path for folder in ("data_gen", "train", "eval") for path in (ROOT / folder).glob("*.py"))


def script_arguments(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.Arguments


def accepts(script: Path, config: Path) -> bool:
    try:
        parse(script_arguments(script), ["--config", str(config)], None)
    except SystemExit:
        return False
    return True


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: str(path.relative_to(ROOT)))
def test_exactly_one_script_accepts_a_config(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, script, _ = config.relative_to(ROOT / "configs").parts
    accepted = [path for path in SCRIPTS if accepts(path, config)]
    assert accepted == [ROOT / folder / f"{script}.py"], capsys.readouterr().err[-400:]


def named(data: Any) -> list[str]:
    """Every text in a config, keys left out."""
    values = data.values() if isinstance(data, dict) else data if isinstance(data, list) else []
    return [data] if isinstance(data, str) else [text for value in values for text in named(value)]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_config_takes_from_a_run_some_config_leaves(config: Path) -> None:
    taken = [text for text in named(HELD[config]) if text.startswith("runs/")]
    assert [text for text in taken if not any(f"{text}/".startswith(f"{folder}/") for folder in LEFT)] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_unknown_keys_and_wrong_types_end_the_program_with_their_name(script: Path, tmp_path: Path) -> None:
    folder = ROOT / "configs" / script.parent.name / script.stem
    good = yaml.safe_load(sorted(folder.glob("*.yaml"))[0].read_text(encoding="utf-8"))
    name = next(name for name, value in good.items() if isinstance(value, str))
    for key, value in (("no_such_key", 1), (name, {"a": [1]})):
        config = tmp_path / "bad.yaml"
        config.write_text(yaml.safe_dump({**good, key: value}), encoding="utf-8")
        run = subprocess.run([sys.executable, script, "--config", config], capture_output=True, text=True, cwd=ROOT)
        assert run.returncode == 2, run.stderr
        assert key in run.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_help_loads_no_torch(script: Path) -> None:
    code = (
        f"import runpy, sys; sys.argv = [{str(script)!r}, '--help']\ntry:\n    runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    code += (
        "finally:\n    assert 'torch' not in sys.modules, 'torch'\n    assert 'transformers' not in sys.modules, 'transformers'\n"
    )
    started = time.perf_counter()
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    assert "--config" in run.stdout
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_out_that_is_no_folder_is_refused(script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = next(path for path in CONFIGS if path.parent.parts[-2:] == (script.parent.name, script.stem))
    arguments = script_arguments(script)
    if "out" not in arguments.__dataclass_fields__:
        assert script.stem in ("report", "view_traces"), "a script that leaves a folder names it out"
        return
    taken = tmp_path / "taken"
    taken.write_text("a file")
    for out, what in ((taken, f"{taken}, which is a file"), (taken / "below", f"{taken / 'below'} under the file {taken}")):
        with pytest.raises(SystemExit) as ended:
            parse(arguments, ["--config", str(config), f"--out={out}"], None)
        assert ended.value.code == 2
        assert f"out: expected a folder, got {what}" in capsys.readouterr().err
