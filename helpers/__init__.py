"""The small package the notebooks import: one idea a module.

Importing it, or any module in it, does nothing else: no print, no file, no socket.
"""
