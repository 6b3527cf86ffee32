"""What these tests write stays in memory."""

from tests.support.in_memory import tmp_path, tmp_path_factory

__all__ = ["tmp_path", "tmp_path_factory"]
