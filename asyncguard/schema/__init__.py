"""JSON Schema and pointers of arguments and results, and the only importer of jsonschema.

Pure as core is, and the one package that imports jsonschema. Guards check arguments by it, recovery
checks and repairs results by it; neither imports the other.

Internal; :mod:`asyncguard` names the public interface.
"""
