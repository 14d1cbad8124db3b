"""What leaves a trace while a model is traced: numbers and bools that Python takes, and what they hang on."""
