"""A committed file of vectors, looked up by text, so that a run without the neural packages embeds the same way.

Left out: adding to the file in passing. It is written whole, by `write_vectors`, from a list of texts.
"""

import hashlib
import os
import zipfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np


def text_key(text: str) -> bytes:
    """SHA-256 of the text in UTF-8, as 64 hexadecimal digits; two texts that differ in a blank differ.

    >>> text_key("a")[:8]
    b'ca978112'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest().encode("ascii")


def write_vectors(path: Path, fingerprint: str, texts: Sequence[str], vectors: np.ndarray) -> None:
    """Write one float32 row a text as .npz, sorted by key, in one step; the same input gives the same bytes.

    The arrays: `fingerprint` (), `keys` (n,) of 64 bytes, `vectors` (n, d).
    """
    keys = np.array([text_key(text) for text in texts], dtype="S64")
    keys, first = np.unique(keys, return_index=True)  # sorted; a text given twice is stored once
    fresh = path.with_name(path.name + ".tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    with fresh.open("wb") as file:
        np.savez(file, fingerprint=np.array(fingerprint), keys=keys, vectors=vectors[first].astype("<f4"))
    os.replace(fresh, path)


class CachedVectors:
    """The rows of one such file; read at the first look-up, and refused when another embedder made them."""

    def __init__(self, path: Path, fingerprint: str, *, mend: str) -> None:
        self.path, self.fingerprint, self.mend = path, fingerprint, mend

    def get(self, text: str) -> np.ndarray | None:
        """The (d,) row of this text, or None when the file does not hold it; ValueError for an unfit file."""
        row = self._rows.get(text_key(text))
        return None if row is None else self._vectors[row]

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _rows(self) -> dict[bytes, int]:
        return {key: row for row, key in enumerate(self._content[0].tolist())}

    @property
    def _vectors(self) -> np.ndarray:
        return self._content[1]

    @cached_property
    def _content(self) -> tuple[np.ndarray, np.ndarray]:
        try:
            with self.path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                made_by, keys, vectors = str(file["fingerprint"]), file["keys"], file["vectors"]
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{self.path}: expected the file of vectors, got none; {self.mend}") from error
        except (zipfile.BadZipFile, KeyError, ValueError, EOFError, OSError) as error:
            raise ValueError(f"{self.path}: expected a file of vectors, got one that cannot be read "
                             f"({type(error).__name__}); {self.mend}") from error
        if made_by != self.fingerprint:
            raise ValueError(f"{self.path}: expected vectors of {self.fingerprint}, got {made_by}; {self.mend}")
        if vectors.ndim != 2 or keys.shape != vectors.shape[:1] or not np.isfinite(vectors).all():
            raise ValueError(f"{self.path}: expected one finite vector a key, got {keys.shape[0]} keys and an array "
                             f"of shape {vectors.shape}; {self.mend}")
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        vectors.flags.writeable = False
        return keys, vectors
