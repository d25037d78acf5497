#!/bin/sh
# Trains the small model that the cases of the command line use: train_model.sh NMT DIRECTORY
set -eu
rm -rf "$2"
cd "$(dirname "$0")/data"
"$1" train tiny.json --quiet --output "$2"
