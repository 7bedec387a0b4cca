"""When waiting jobs start: the present cluster is simulated forward, many times, with run times drawn from estimates.

run_times         estimates of pods: learned, declared, limited, or unknown
scenario          one draw of all run times
expected_starts   the ranges of many scenarios
"""
