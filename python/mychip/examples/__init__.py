"""Programs that show the chip at work: ``python -m mychip.examples.digits``."""
