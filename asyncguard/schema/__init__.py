"""JSON Schema and JSON pointers, each once: what is declared of arguments and results, compiled and asked.

Pure as core is, and the one package that imports jsonschema. Guards check arguments by it, recovery checks and mends
results by it; neither knows the other.
"""
