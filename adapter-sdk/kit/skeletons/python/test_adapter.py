"""Runs `odb-adapter check` as a test."""

import pathlib
import subprocess
import unittest


class AdapterTest(unittest.TestCase):
    def test_it_follows_the_protocol(self):
        adapter = pathlib.Path(__file__).with_name("adapter.py")
        checked = subprocess.run(["odb-adapter", "check", adapter], stdout=subprocess.PIPE, encoding="utf-8")
        self.assertEqual(checked.returncode, 0, checked.stdout)


if __name__ == "__main__":
    unittest.main()
