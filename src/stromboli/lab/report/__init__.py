"""A comparison as one HTML file, which opens without a network.

content  what a report contains
tables   figures as tables
page     the page with its style and scripts, which a strict content security policy allows
"""
