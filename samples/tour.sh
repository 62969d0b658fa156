#!/bin/sh
# What neuronport can say of gpt_trainer without a Neuron device: the first screen, findings as SARIF,
# the proposed port as a diff, and all of it joined in one page.
# sh samples/tour.sh [NEURONPORT]
set -u
neuronport=${1:-neuronport}
samples=$(dirname "$0")
project=$samples/gpt_trainer
model=$samples/gpt_trainer_traced.py
records=$project/.neuronport

# audit ends with 1, because there is something to port; compile with 4 where Neuron's compiler is not
"$neuronport" audit "$project" --record --output sarif="$project.sarif"
"$neuronport" port "$project" --record >"$project.diff"
"$neuronport" graph "$model" --mode both --record "$records"
"$neuronport" compile "$model" --record "$records"
"$neuronport" portability "$project" --record
"$neuronport" report "$project"
