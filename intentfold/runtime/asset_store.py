"""Assets on disk: one whole file a version, never changed once it is there, safe with many writers."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from intentfold.asset import Assets
from intentfold.records import RecordError, canonical_json, from_json, to_json


class StaleAssets(RuntimeError):
    """Somebody else has written the version that was to be written: read again, and apply the change to that."""


class AssetStore:
    """Versions of each user's assets under `root`: `<user>/000001.json`, `<user>/000002.json`, and so on.

    A version appears whole or not at all, and only one writer can make it: its file is written under another name and then
    linked to its own, which fails where that exists. There is no lock to be left behind by a kill.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def load(self, user: str, version: int | None = None) -> Assets:
        """The latest assets of a user, or those of a version; empty at version 0 where there are none.

        Raises `FileNotFoundError` for a version that is not there, `RecordError` for a file that does not fit.
        """
        if version is None:
            version = max(self.versions(user), default=0)
        if version == 0:
            return Assets(user)
        path = self._path(user, version)
        try:
            assets = from_json(Assets, path.read_text(encoding="utf-8"))
        except RecordError as error:
            raise RecordError(f"{path}: {error}") from None
        if (assets.user, assets.version) != (user, version):
            raise RecordError(f"{path}: expected version {version} of {user}, got {assets.version} of {assets.user}")
        return assets

    def versions(self, user: str) -> list[int]:
        """The versions that are there, in order; other files in the folder are none."""
        return sorted(int(path.stem) for path in self._folder(user).glob("*.json") if re.fullmatch(r"[0-9]{6,}", path.stem))

    def commit(self, assets: Assets) -> Assets:
        """Write the version after `assets.version`, on which the change was made, and return it.

        Raises `StaleAssets` where another writer was first.
        """
        new = replace(assets, version=assets.version + 1)
        folder = self._folder(assets.user)
        if assets.version and not self._path(assets.user, assets.version).exists():
            raise FileNotFoundError(f"{self._path(assets.user, assets.version)}: the version that the change was made on")
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".partial")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(canonical_json(to_json(new)) + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.link(name, self._path(assets.user, new.version))
        except FileExistsError:
            raise StaleAssets(f"version {new.version} of {assets.user} was written by another") from None
        finally:
            os.unlink(name)
        _sync(folder)
        return new

    def keep(self, learned: Assets) -> None:
        """Make what was learned the user's latest version, unless it is that already."""
        latest = self.load(learned.user)
        if latest.situations != learned.situations:
            self.commit(replace(learned, version=latest.version))

    def update(self, user: str, change: Callable[[Assets], Assets], attempts: int = 100) -> Assets:
        """Apply `change` to the latest assets and commit; done again on what another writer made of them meanwhile."""
        for _ in range(attempts):
            latest = self.load(user)
            try:
                return self.commit(replace(change(latest), user=user, version=latest.version))
            except StaleAssets:
                continue
        raise StaleAssets(f"{user}: other writers were first {attempts} times")

    def _folder(self, user: str) -> Path:
        if not re.fullmatch(r"[\w][\w.@+-]{0,99}", user):
            raise ValueError(f"a user's name is made of letters, digits and _ . @ + -, got {user[:120]!r}")
        return self.root / user

    def _path(self, user: str, version: int) -> Path:
        return self._folder(user) / f"{version:06d}.json"


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
