"""Answers of a scheduler to people who may not read its whole cluster: asked by commands, calculated by `stromboli
answer`.
"""
