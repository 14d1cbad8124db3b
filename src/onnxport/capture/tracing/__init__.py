"""What is done while a model is traced, so that the tracer records what the model does in inference."""
